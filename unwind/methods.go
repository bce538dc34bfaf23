package unwind

import "ftracelab/unwind/user"

// SetMethods says how stacks are walked: the methods in the order in which they are tried.
// None means frame pointers. It is called before the first request.
func (d *Deferred) SetMethods(methods []user.Method) { d.walker.Methods = methods }
