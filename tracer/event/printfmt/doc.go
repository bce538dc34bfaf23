// Package printfmt runs the "print fmt" of a trace event: the C text after
// "print fmt:" in events/SYSTEM/EVENT/format, a printf format string followed
// by C expressions over the fields of one record.
//
//	"comm=%s prio=%d %s", REC->comm, REC->prio, REC->on ? "on" : __print_flags(REC->fl, "|", { 1UL << 0, "A" })
//	 └──── segments ────┘ └──────────────────────── arguments ───────────────────────────────────────┘
//
// [Compile] parses it once: the format string becomes segments (literal text
// and conversions), each argument an expression tree whose constant parts are
// already computed. [Program.Append] then walks the segments over a record and
// appends the text; it keeps no state and allocates only room in the
// destination. Records are assumed to be little-endian with 8-byte longs, as on
// the x86-64 kernels the formats come from.
//
// Where the kernel uses addresses in C, this package uses bounds: a field that
// is an array, and every __get_str or __get_dynamic_array, is a bounded slice
// of the record. So a wrong offset yields less text, and never a read outside
// of the record. Functions and names that only the kernel itself could evaluate
// (its enum constants, its decode helpers) compile to a value that prints as
// "[unknown NAME]"; [Program.Unknown] lists them.
//
// Kernel: include/trace/stages/stage3_trace_output.h (the helpers),
// kernel/trace/trace_output.c (their text), lib/vsprintf.c (the conversions).
//
// Left out: assignments and statements (a local variable of a ({ … })
// expression is understood, nothing else), floating point, and the %p
// extensions that dereference kernel pointers (%pd, %pV, %pK's permissions).
package printfmt
