// Package filter is the event filter: an expression over an event's fields,
// written to events/SYSTEM/EVENT/filter or behind the "if" of a trigger, that
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
// only. Blanks may stand between any two words. A field is one of the event's
// own, else one that every event has: CPU, cpu, common_cpu (the CPU it happens
// on), COMM, comm (the running task's name), stacktrace (which nothing can be
// compared with), else one of the record's header, common_pid and its kin.
//
//	field                      op                     value
//	number                     == != < <= > >= &      12 0x1f 017 -3
//	number, CPU                == != &                CPUS{0-3,8}
//	cpumask                    == != &                CPUS{0-3,8}
//	8 bytes, with .function    == !=                  vfs_read or an address inside
//	char array, char *, comm   == != ~                "text" or 'text'
//
// A number has to fit 64 bits of the field's signedness; what of it exceeds the
// field's width is cut off, as C's cast does. & asks for a common bit. With
// .function the address has to lie inside the function. char * points to
// memory outside of the record, with .ustring to the task's own.
//
// ~ takes a glob. "abc*", "*abc*" and a glob with a * in the middle, a ? or a
// [set] mean what they do in a shell, with ! in front the opposite. Two have a
// surprise in Linux 6.12 and so here: a pattern that begins with a digit is
// compared as it stands, * included; and "*abc" looks at the end of the field,
// not of the text, so in a char[16] it finds only texts of 15 characters.
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
// A [File] shows its filter, or "none". After a faulty expression it shows that,
// with a caret below and the reason, while every event passes:
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
