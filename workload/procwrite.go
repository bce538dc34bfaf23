package workload

import (
	"slices"

	"ftracelab/machine"
)

const eio = 5 // from include/uapi/asm-generic/errno-base.h; the host may have another number

// WriteProc lets a guest write to a file of /proc. The write returns ret.
func (g *Guests) WriteProc(pid int, ret int64) {
	g.note(pid, guestAct{kind: guestWriteProc, Syscall: Syscall{NR: sysWrite, Ret: ret}})
}

// ProcWriter is a process that writes to files of /proc that have no write operation,
// and the lab in which it does so. It becomes a guest at its first write.
type ProcWriter struct {
	Lab    Lab
	PID    int
	Comm   string
	guests *Guests
}

// Write makes the write, which fails with EIO, and lets simulated time pass until it is
// done.
//
// The error says that the machine does not run a workload of this package.
func (p *ProcWriter) Write() error {
	err := p.Lab.Do(func(m *machine.Machine) (err error) {
		if p.guests == nil {
			if p.guests, err = NewGuests(m); err != nil {
				return err
			}
		}
		p.guests.Add(p.PID, p.Comm, 0)
		p.guests.WriteProc(p.PID, -eio)
		return nil
	})
	if err != nil {
		return err
	}
	return await(p.Lab, p.Comm, moduleTimeout, func() bool { return !p.guests.Wake() })
}

// assembleProcWrite makes the code of vfs_write for such a file.
//
// Kernel: proc_reg_write, fs/proc/inode.c.
func assembleProcWrite(m *machine.Machine) (machine.Code, error) {
	code, err := m.Assemble(150, func(a *machine.Assembler) {
		a.Call("vfs_write").Call("proc_reg_write").Return(2)
	})
	if err != nil {
		return nil, err
	}
	return code[1 : len(code)-1], nil
}

// onFile changes a write from the captures into one to another kind of file.
func (w *mix) onFile(write, file machine.Code) machine.Code {
	from, to := w.fileCode(write)
	return slices.Concat(write[:from], file, write[to:])
}

// fileCode finds the part of a write that depends on the file: it lies in vfs_write,
// after the check that the file may be written.
func (w *mix) fileCode(code machine.Code) (from, to int) {
	calls := func(pc int, name string) bool {
		sym, ok := w.m.Kallsyms().ByName(name)
		return ok && code[pc].Kind == machine.OpCall && w.model.Sites[code[pc].Arg].Func == sym.Addr
	}
	pc := 0
	for pc < len(code) && !calls(pc, "vfs_write") {
		pc++
	}
	from = min(pc+1, len(code))
	depth, checked := 0, false
	for pc = from; pc < len(code); pc++ {
		switch code[pc].Kind {
		case machine.OpCall:
			checked = checked || depth == 0 && calls(pc, "rw_verify_area")
			depth++
		case machine.OpReturn:
			if depth == 0 {
				return from, pc
			}
			if depth--; depth == 0 && checked {
				from, checked = pc+1, false
			}
		}
	}
	return from, from
}
