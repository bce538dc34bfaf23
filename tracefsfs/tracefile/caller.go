package tracefile

import "context"

// Caller is a process that is known to have opened a file.
type Caller struct {
	Comm string
	CPU  int // the one CPU that it runs on
}

type callerKey struct{}

// WithCaller is a context of what c does.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is who opens a file with ctx; false if that is not known, or if it may run
// on more than one CPU.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

type pidKey struct{}

// WithPID is a context of what the process pid does.
func WithPID(ctx context.Context, pid int) context.Context {
	return context.WithValue(ctx, pidKey{}, pid)
}

// PIDOf is the process that uses a file with ctx, 0 if that is not known.
func PIDOf(ctx context.Context) int {
	pid, _ := ctx.Value(pidKey{}).(int)
	return pid
}
