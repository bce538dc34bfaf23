package output

import "strconv"

// appendFnReturn appends an entry of the tracer return of 2008. The line begins with the
// place to which the function returned, so it names the caller, and it has no columns
// before that. No option but those for symbols changes it.
//
// Departure: there, the other tracers do not print such an entry, and the names of the
// columns are those of 2008.
//
// Kernel: print_return, kernel/trace/trace_functions_return.c in the mail of 2008-10-30.
func (p *Printer) appendFnReturn(dst []byte, r *record) []byte {
	dst = append(p.appendIP(dst, r.u64(0)), " Called: "...)
	dst = append(strconv.AppendUint(dst, r.u64(1), 10), " Returned: "...)
	return append(strconv.AppendUint(dst, r.u64(2), 10), '\n')
}
