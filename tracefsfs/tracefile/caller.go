package tracefile

import "context"

// Caller is the process that uses a file.
type Caller struct {
	PID    int // as the machine knows it; 0: it is no task of the machine
	Comm   string
	CPU    int  // where it runs, or ran last
	Pinned bool // it may run nowhere else

	// Dir finds its working folder, an absolute path; "" if that cannot be seen. It may be nil.
	Dir func() string
}

type callerKey struct{}

// WithCaller is a context of what a process does. Most files do not want to know who uses
// them, so who is called only for those that do.
func WithCaller(ctx context.Context, who func() Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

// CallerOf is who uses a file with ctx; false if that is not known.
func CallerOf(ctx context.Context) (Caller, bool) {
	who, ok := ctx.Value(callerKey{}).(func() Caller)
	if !ok {
		return Caller{}, false
	}
	return who(), true
}
