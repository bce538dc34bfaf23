// Package fgraph is the function graph machinery of ftrace: the shadow stack that
// lets a tracer see a function return, its users (up to sixteen, who share it), and
// the call-graph text that function_graph prints.
//
// # How a return is seen
//
// A function's entry can be hooked at its first instruction, but it may return
// from anywhere. So the entry hook replaces the return address on the stack by
// the address of a small routine, and keeps the real one on a second stack, the
// shadow stack of the task:
//
//	   machine stack              shadow stack of the task (512 words)
//	┌──────────────────┐        ┌──────────────────────────────────────┐
//	│ args of vfs_read │        │ 0 ret      ksys_read+0x6d            │ frame
//	│ ReturnToHandler  │◄──┐    │ 1 func     vfs_read                  │
//	├──────────────────┤   │    │ 2 calltime 1234567 ns                │
//	│        …         │   └────┤ 3 retp     where the word was        │
//	└──────────────────┘        │ 4 bitmap   users that want the return│
//	                            │ 5 data     what user 1 reserved      │
//	                            │ 6 data word: size 1, user 1, back 6  │
//	                            │ 7 …        next free word            │
//	                            │ 496…511    one variable per user     │
//	                            └──────────────────────────────────────┘
//
// The word on top always says how far below it the frame begins, so that a
// return (and an unwinder, see [Graph.RetAddr]) finds the frame whatever the
// users have reserved.
//
// # Parts
//
// [Graph] holds the users ([Ops]) and does entry and return ([Graph.Enter],
// [Graph.Return]); [Stack] is one task's shadow stack with [Stack.Reserve],
// [Stack.Retrieve] and [Stack.Var] for the users. [Graph.Call] and
// [Graph.Leave] are Enter and Return as hooks of a simulated machine. [Text]
// prints funcgraph_entry and funcgraph_exit records as an indented call graph.
//
// See the example of [Graph] for a complete tracer.
//
// Kernel: kernel/trace/fgraph.c and kernel/trace/trace_functions_graph.c.
//
// Left out: the allocation of shadow stacks in batches of 32 tasks (a stack is
// made when its task first needs it), pausing during hibernation, and the
// frame-pointer test of architectures without fentry.
package fgraph
