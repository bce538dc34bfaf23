package dynevent

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/machine/memory"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event/probe"
	"ftracelab/unwind/user"
)

// UserFiles is the file system of user space, with the files that uprobes can probe.
type UserFiles interface {
	// Stat finds a file and follows links. Errors carry an errno.
	Stat(path string) (UserFile, error)
}

// UserFile is a file of user space.
type UserFile struct {
	ID      uint64 // the Inode of a [machine.Mapping] and the File of a [machine.Place]
	Regular bool
	Size    int64 // bytes
}

// uprobeEvents is the kind of probes in files of user space.
//
// Kernel: trace_uprobe_ops, kernel/trace/trace_uprobe.c.
var uprobeEvents = &Kind{Name: "uprobe", Create: (*Events).createUprobe}

// traceUprobe is a probe of a uprobe event: a place in a file, for all tasks that run
// it.
//
// A program of an ELF file hits the probe whenever it comes to that place.
//
// Departure: no other process is run instruction by instruction. It passes the places that
// its user stack shows when a system call returns. A process of the host that executes
// another program passes the places where every run of that program begins. A probe
// elsewhere is never hit, and neither is a probe on a return.
//
// Kernel: struct trace_uprobe, kernel/trace/trace_uprobe.c.
type traceUprobe struct {
	*traceProbe
	enabled bool
	hits    uint64
	source  userSource
}

// createUprobe makes a uprobe event, or adds a probe to one. Errors are those of
// registerProbe, and EINVAL if another probe has the same place with another reference
// counter.
//
// Kernel: __trace_uprobe_create and validate_ref_ctr_offset,
// kernel/trace/trace_uprobe.c.
func (d *Events) createUprobe(command string) error {
	def, err := probe.ParseUprobe(command, probeEnv{d})
	if err != nil {
		return d.probeFault(err)
	}
	for u := range d.uprobes {
		if u.def.File.ID == def.File.ID && u.def.Offset == def.Offset && u.def.RefCtr != def.RefCtr {
			d.host.Warn("trace_uprobe: Reference counter offset mismatch.")
			return def.Failed(syscall.EINVAL)
		}
	}
	p := &traceProbe{d: d, def: def}
	p.on = &traceUprobe{traceProbe: p}
	return d.registerProbe(p)
}

// writeUprobeEvent carries out a line that is written to uprobe_events.
//
// Kernel: create_or_delete_trace_uprobe, kernel/trace/trace_uprobe.c.
func (d *Events) writeUprobeEvent(command string) error {
	if strings.HasPrefix(command, "-") {
		return d.releaseDynEvents(command, uprobeEvents)
	}
	if len(splitArgs(command)) == 0 {
		return nil
	}
	err := d.createUprobe(command)
	if errors.Is(err, syscall.ECANCELED) {
		return fmt.Errorf("uprobe_events: %q: %w", command, syscall.EINVAL)
	}
	return err
}

// register does nothing: a probe is put into its file when its event is enabled. If the
// probe joins an event that is enabled already, it waits until the event is enabled
// again.
//
// Kernel: append_trace_uprobe, kernel/trace/trace_uprobe.c.
func (u *traceUprobe) register() error { return nil }

func (u *traceUprobe) unregister() { _ = u.enable(false) }

// enable puts the probe into its file. Errors: EINVAL for a place after the end of the
// file, and for a reference counter that is not aligned.
//
// Kernel: uprobe_register, kernel/events/uprobes.c.
func (u *traceUprobe) enable(on bool) error {
	if on {
		file, err := u.d.statUser(u.def.File.At)
		if err != nil || u.def.Offset > uint64(file.Size) || u.def.RefCtr%2 != 0 {
			return fmt.Errorf("%s has no place %#x: %w", u.def.Path, u.def.Offset, syscall.EINVAL)
		}
	}
	u.enabled = on
	u.d.host.Rehook()
	return nil
}

// statUser finds a file in d.files, or a file that a task has mapped.
func (d *Events) statUser(path string) (UserFile, error) {
	if d.files != nil {
		if file, err := d.files.Stat(path); !errors.Is(err, syscall.ENOENT) {
			return file, err
		}
	}
	for _, t := range d.machine.Tasks() {
		var file UserFile
		for _, m := range t.Maps {
			switch {
			case m.Path == path && m.Inode != 0: // it may be mapped in several parts
				file = UserFile{ID: m.Inode, Regular: true, Size: max(file.Size, int64(m.Offset+m.End-m.Start))}
			case strings.HasPrefix(m.Path, strings.TrimSuffix(path, "/")+"/"):
				return UserFile{}, nil // a folder
			}
		}
		if file.ID != 0 {
			return file, nil
		}
	}
	return UserFile{}, fmt.Errorf("%s: %w", path, syscall.ENOENT)
}

// uprobes yields the uprobes.
func (d *Events) uprobes(yield func(*traceUprobe) bool) {
	for _, e := range d.list {
		if p, ok := e.(*traceProbe); ok {
			if u, ok := p.on.(*traceUprobe); ok && !yield(u) {
				return
			}
		}
	}
}

// ListenUsers lists the uprobes that can be hit, and reports whether there are any.
func (d *Events) ListenUsers() bool {
	d.uprobed = d.uprobed[:0]
	for u := range d.uprobes {
		if u.enabled && !u.def.Return {
			d.uprobed = append(d.uprobed, u)
		}
	}
	return len(d.uprobed) > 0
}

// maxUserIPs is how many places of a user stack are looked at.
const maxUserIPs = 64

// User is called when the current task goes on in user space after a system call. It
// hits the probes at the places that the task passes.
func (d *Events) User(c *machine.CPU) {
	t := c.Current
	if t.Starts != nil {
		for _, at := range t.Starts {
			d.hitUser(c, at)
		}
		t.Starts = nil
	} else if !t.Stepped {
		d.userIPs, _ = d.walker.Walk(d.userIPs[:0], user.Regs{UserRegs: t.User}, t.Memory, maxUserIPs)
		for _, addr := range d.userIPs {
			for n := range t.Maps {
				if m := &t.Maps[n]; addr >= m.Start && addr < m.End {
					d.hitUser(c, machine.Place{File: m.Inode, Offset: addr - m.Start + m.Offset, Addr: addr})
					break
				}
			}
		}
	}
}

// Probed reports whether an enabled probe is at an offset in a file.
func (d *Events) Probed(file, offset uint64) bool {
	for _, u := range d.uprobed {
		if u.def.File.ID == file && u.def.Offset == offset {
			return true
		}
	}
	return false
}

// Breakpoint is called when the current task has come to a place with a probe.
func (d *Events) Breakpoint(c *machine.CPU, at machine.Place) { d.hitUser(c, at) }

// beginsFunction reports whether an instruction is one with which functions begin: push
// %rbp, or endbr64.
//
// Kernel: is_uprobe_at_func_entry, arch/x86/events/core.c.
func beginsFunction(insn [4]byte, compat bool) bool {
	return insn[0] == 0x55 || !compat && insn == [4]byte{0xf3, 0x0f, 0x1e, 0xfa}
}

// hitUser hits the probes at a place. The kernel takes one off the preempt count although
// it is 0, so the word with the flags and the count wraps around and all its bits are
// set.
//
// Kernel: uprobe_dispatcher, kernel/trace/trace_uprobe.c; tracing_gen_ctx_dec,
// include/linux/trace_events.h.
func (d *Events) hitUser(c *machine.CPU, at machine.Place) {
	for _, u := range d.uprobed {
		if u.def.File.ID != at.File || u.def.Offset != at.Offset {
			continue
		}
		u.hits++
		h := d.host.Common(c)
		h.Flags, h.PreemptCount = 0xff, 0xff
		u.source = userSource{taskSource: taskSource{d: d, c: c}, at: at}
		u.write(c, h, probe.Hit{IP: at.Addr}, &u.source, Around{Entry: beginsFunction(at.Insn, c.Current.Compat)})
	}
}

// userSource is what a probe in user space reads.
//
// Departure: the registers are those of the system call that has returned, as far as
// they are kept. All others are 0.
type userSource struct {
	taskSource
	at machine.Place
}

func (s *userSource) Reg(n int) uint64 {
	t := s.c.Current
	stay := t.Stay()
	switch n {
	case memory.RegIP:
		return s.at.Addr
	case memory.RegSP:
		return t.User.SP
	case memory.RegBP:
		return t.User.FP
	case memory.RegAX:
		return uint64(stay.Ret)
	case memory.RegDI, memory.RegSI, memory.RegDX, memory.RegR10, memory.RegR8, memory.RegR9:
		return stay.Args[syscallRegs[n]]
	case memory.RegCX:
		return t.User.IP
	}
	return 0
}

// syscallRegs says which argument of a system call, counted from 0, is in a register.
var syscallRegs = map[int]int{
	memory.RegDI: 0, memory.RegSI: 1, memory.RegDX: 2, memory.RegR10: 3, memory.RegR8: 4, memory.RegR9: 5,
}

func (s *userSource) StackPointer() uint64 { return s.c.Current.User.SP }

func (s *userSource) Stack(n int) uint64 {
	if s.c.Current.Memory == nil {
		return 0
	}
	word, _ := s.c.Current.Memory.Load(s.StackPointer() + 8*uint64(n))
	return word
}

func (s *userSource) RetVal() uint64 { return s.Reg(memory.RegAX) }

// FileAddr returns the address at which the byte at an offset of the probed file is
// mapped.
//
// Kernel: translate_user_vaddr, kernel/trace/trace_uprobe.c.
func (s *userSource) FileAddr(offset uint64) uint64 { return s.at.Addr - s.at.Offset + offset }

// uprobeFiles returns the files uprobe_events and uprobe_profile.
func (d *Events) uprobeFiles() []tracefile.Node {
	return []tracefile.Node{
		d.File("uprobe_events", uprobeEvents, d.writeUprobeEvent),
		d.host.Seq("uprobe_profile", 0o440, d.showUprobeProfile),
	}
}

// showUprobeProfile returns the text of uprobe_profile.
//
// Kernel: probes_profile_seq_show, kernel/trace/trace_uprobe.c.
func (d *Events) showUprobeProfile() ([]byte, error) {
	var text []byte
	for u := range d.uprobes {
		text = fmt.Appendf(text, "  %s %-44s %15d\n", u.def.Path, u.def.Event, u.hits)
	}
	return text, nil
}
