// Package join gives the user stacks of a trace that were unwound later back to the
// events that asked for them.
//
// Such a trace has a cookie behind each event, and one stack with the same cookie for each
// stay of a task in the kernel. The stack comes after its events, often on another CPU. So
// the trace is read twice: [Table.See] reads it and keeps the stacks, then [Source] reads it
// again and puts each stack where its cookies stood.
//
//	t := join.NewTable(memory)
//	for … { err = t.See(&r) }      // the first reading
//	counts := t.Counts()           // how many found their stack, and why the others did not
//	src := t.Source(again)         // the second reading: user stacks instead of cookies
//
// # The rule
//
// Only an equal cookie of the same task joins. Neither time nor order decides: if records
// were lost, the next stack of the task may belong to its next stay. A CPU counts its
// cookies, so a cookie names one stay of one task until the count of the CPU wraps after
// 2^31 stays. The task is compared as well, so that even then no stack goes to another task.
package join
