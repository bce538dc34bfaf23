// Package filter is the event filter: an expression over an event's fields,
// written to events/SYSTEM/EVENT/filter or after the "if" of a trigger, that
// decides for each record whether it is kept.
//
//	prev_pid > 0 && !(next_comm ~ "kworker*" || next_pid == 2)
//	└─predicate─┘    └──────predicate──────┘    └─predicate─┘
//
// # The grammar
//
//	expression = predicate | "!" expression | "(" expression ")"
//	           | expression "&&" expression | expression "||" expression
//	predicate  = field [".ustring"] [".function"] op value
//
// && binds stronger than ||, and ! takes the next predicate or parenthesis
// only. Blanks may stand between any two words. A name is looked up first among
// the event's own fields, then among those that every event has: CPU, cpu,
// common_cpu (the CPU it happens on), COMM, comm (the running task's name),
// stacktrace (which cannot be compared with anything), and last in the record's
// header: common_pid and the like.
//
//	field                      op                     value
//	number                     == != < <= > >= &      12 0x1f 017 -3
//	number, CPU                == != &                CPUS{0-3,8}
//	cpumask                    == != &                CPUS{0-3,8}
//	8 bytes, with .function    == !=                  vfs_read or an address inside
//	char array, char *, comm   == != ~                "text" or 'text'
//
// A number must fit into 64 bits with the field's signedness; bits beyond the
// field's width are cut off, as by a cast in C. & holds if both have a bit in
// common. With .function the address must lie inside the function. char *
// points to memory outside of the record; with .ustring, that is the memory of
// the task.
//
// ~ takes a glob. "abc*", "*abc*" and a glob with a * in the middle, a ? or a
// [set] mean what they mean in a shell; a ! in front means the opposite. Two
// patterns are surprising in Linux 6.12, and so here: a pattern that begins
// with a digit is compared as it stands, * included; and "*abc" looks at the
// end of the field, not of the text, so in a char[16] it finds only texts of 15
// characters.
//
// # How it runs
//
// [Parse] compiles the expression to steps, each with a predicate and the two
// steps that follow when it holds and when it does not; parentheses, ! and
// precedence are gone. a && (b || c):
//
//	      ┌──yes──▶ b ──yes──▶ accept
//	a ────┤         └──no──▶ c ──yes──▶ accept
//	      └──no──▶ reject    └──no──▶ reject
//
// so [Filter.Match] walks at most once past each predicate, skips those that no
// longer matter and allocates nothing. See the example of [Parse].
//
// # What the files show
//
// A [File] shows its filter, or "none". After a faulty expression it shows that
// expression with a caret below it and the reason, and every event passes:
//
//	prev_pid = 1
//	          ^
//	parse_error: Invalid operator
//
// The caret stands one to the right in most faults of a predicate. The same fault goes to error_log as an [Error]. [WriteSystem] is
// events/SYSTEM/filter, which sets one expression for all events of a system.
//
// Kernel: kernel/trace/trace_events_filter.c; the files are in
// kernel/trace/trace_events.c, globs in lib/glob.c, CPU lists in
// lib/bitmap-str.c.
//
// Left out: filters of perf events. For ftrace:function, which only perf can
// filter, an expression is parsed by the rules for it (ip == name), but matches
// nothing, since perf makes a list of functions of it.
package filter
