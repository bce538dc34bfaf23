package probe

import (
	"syscall"
)

// at makes the error for the beginning of the definition's word with that index.
func (d *Definition) at(index int, m message, errno syscall.Errno) error {
	l := faultLog{location: locations[d.Kind], argv: d.argv, index: index}
	return l.err(l.failWith(0, m, errno))
}

// Exists is the error for a name that already belongs to an event which is not a probe
// of this kind.
//
// Kernel: register_trace_kprobe, register_trace_uprobe, register_trace_fprobe,
// __trace_eprobe_create.
func (d *Definition) Exists() error { return d.at(0, errEventExist, syscall.EEXIST) }

// Failed is the error for a probe that could not be registered because of errno.
func (d *Definition) Failed(errno syscall.Errno) error {
	if d.Kind != Kprobe && d.Kind != Fprobe && d.Kind != Tracepoint {
		return &Error{Errno: errno}
	}
	switch errno {
	case syscall.ENOMEM, syscall.EEXIST:
		return &Error{Errno: errno}
	case syscall.EILSEQ:
		return d.at(1, errBadInsnBoundary, errno)
	case syscall.ENOENT:
		return d.at(1, errBadProbeAddress, errno)
	}
	return d.at(1, errRegister, errno)
}

// CheckAppend gives an error if the probe must not join others that already share an
// event. All of them are of the same kind; f and t count as one kind here. All must be
// hit at the same side of a function and must have the same arguments, and no two may
// be the same probe.
//
// Errors: EEXIST.
//
// Kernel: register_trace_kprobe, append_trace_kprobe, trace_kprobe_has_same_kprobe and
// those of uprobes and fprobes.
func (d *Definition) CheckAppend(siblings []*Definition) error {
	if len(siblings) == 0 {
		return nil
	}
	first := siblings[0]
	if d.Kind != first.Kind || d.Return != first.Return {
		return d.at(0, errDiffProbeType, syscall.EEXIST)
	}
	if i := d.firstDifference(first); i >= 0 {
		return d.at(i+2, errDiffArgType, syscall.EEXIST)
	}
	for _, s := range siblings {
		if d.sameProbe(s) {
			return d.at(0, errSameProbe, syscall.EEXIST)
		}
	}
	return nil
}

// firstDifference gives the index of the first argument whose name or type differs from
// that in the other probe; -1 if there is none.
//
// Kernel: trace_probe_compare_arg_type.
func (d *Definition) firstDifference(to *Definition) int {
	if len(d.Args) != len(to.Args) {
		return min(len(d.Args), len(to.Args))
	}
	for i := range d.Args {
		a, b := &d.Args[i], &to.Args[i]
		if a.typ != b.typ || a.Count != b.Count || a.Name != b.Name {
			return i
		}
	}
	return -1
}

// sameProbe reports whether two probes of one event are at the same place and fetch the
// same arguments.
func (d *Definition) sameProbe(as *Definition) bool {
	if d.Symbol != as.Symbol || d.Offset != as.Offset || d.File.ID != as.File.ID {
		return false
	}
	for i := range d.Args {
		if d.Args[i].Comm != as.Args[i].Comm {
			return false
		}
	}
	return true
}

// Resolve finds the addresses of the symbols from which the arguments fetch. In the
// kernel that is a part of registering the probe. The errors are those that
// [Definition.Failed] makes for ENOENT or a bad offset.
//
// Kernel: traceprobe_update_arg.
func (d *Definition) Resolve(env Env) error {
	for i := range d.Args {
		if err := d.Args[i].resolve(env); err != nil {
			return d.Failed(errnoOf(err))
		}
	}
	return nil
}

func (a *Arg) resolve(env Env) error {
	for i := range a.code {
		if a.code[i].op != opSymbol {
			continue
		}
		symbol, offset, err := splitOffset(a.code[i].data)
		if err != nil {
			return err
		}
		addr := env.Address(symbol)
		if addr == 0 {
			return syscall.ENOENT
		}
		a.code[i+1].imm = addr + uint64(offset)
	}
	return nil
}
