// Package mmiotrace is the tracer mmiotrace. It records what drivers do with the memory
// of devices, in mappings that are made while the tracer is current. All CPUs except
// the first are offline meanwhile.
//
// Departure: an access does not take longer because it is traced. There are no
// parameters (filter_offset, nommiotrace, trace_pc).
//
// Kernel: kernel/trace/trace_mmiotrace.c, arch/x86/mm/mmio-mod.c.
package mmiotrace

import (
	"fmt"
	"slices"

	"ftracelab/machine"
	"ftracelab/machine/klog"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/plugin"
)

// state is what the tracer remembers.
type state struct {
	ft      plugin.Ftrace
	scratch []byte
	// The records that are written; they are kept here so that nothing is allocated.
	rw       events.MmiotraceRWRecord
	lastMap  events.MmiotraceMapRecord
	of       plugin.Trace // the instance that has selected the tracer; nil: none
	maps     []mapping
	ids      int32          // how many mappings were ever seen
	downed   []*machine.CPU // the CPUs that were taken offline
	overruns uint64         // how many overruns of the buffer were reported
	dropped  uint64         // how many records without room are still to be reported
}

type mapping struct {
	virt, size, phys uint64
	id               int32
}

// Tracer gives the row of the tracer mmiotrace.
func Tracer(ft plugin.Ftrace) plugin.Tracer {
	s := &state{ft: ft}
	return plugin.Tracer{
		Name:  "mmiotrace",
		Start: s.resetData,
		Init: func(tr plugin.Trace) error {
			s.resetData(tr)
			s.enterUniprocessor()
			ft.Machine().Printk(klog.Info, "mmiotrace: enabled.")
			s.of = tr
			return nil
		},
		Reset: func(tr plugin.Trace) {
			s.of, s.maps = nil, nil
			s.leaveUniprocessor()
			ft.Machine().Printk(klog.Info, "mmiotrace: disabled.")
			s.resetData(tr)
		},
		Hook: func(h *machine.Hooks) {
			if s.of != nil {
				h.MMIO = s.access
			}
		},
		Pipe: func(tr plugin.Trace) func([]byte) []byte {
			p := &pipe{s: s, tr: tr}
			return p.next
		},
	}
}

// Kernel: mmio_reset_data.
func (s *state) resetData(tr plugin.Trace) {
	s.overruns, s.dropped = 0, 0
	tr.ResetBuffer()
}

// maxHotplug is how long CPUs may take to go offline.
const maxHotplug = 10 * machine.Second

// enterUniprocessor takes all CPUs offline except the first, and lets simulated time
// pass until that is done.
//
// Departure: the CPUs go offline together, and the messages that say so follow after that.
//
// Kernel: enter_uniprocessor, arch/x86/mm/mmio-mod.c.
func (s *state) enterUniprocessor() {
	m := s.ft.Machine()
	if m.OnlineCPUs() > 1 {
		m.Printk(klog.Notice, "mmiotrace: Disabling non-boot CPUs...")
	}
	for _, c := range m.CPUs()[1:] {
		if c.Online() && m.SetOnline(c.ID, false) == nil {
			s.downed = append(s.downed, c)
		}
	}
	for end := m.Now() + maxHotplug; m.OnlineCPUs() > 1 && m.Now() < end; {
		s.ft.Advance(machine.Millisecond)
	}
	for _, c := range s.downed {
		m.Printk(klog.Info, "mmiotrace: CPU%d is down.", c.ID)
	}
}

// Kernel: leave_uniprocessor.
func (s *state) leaveUniprocessor() {
	m := s.ft.Machine()
	if len(s.downed) > 0 {
		m.Printk(klog.Notice, "mmiotrace: Re-enabling CPUs...")
	}
	for _, c := range s.downed {
		_ = m.SetOnline(c.ID, true) // cannot fail: it was online before
		m.Printk(klog.Info, "mmiotrace: enabled CPU%d.", c.ID)
	}
	s.downed = nil
}

// access records what a driver does.
//
// Kernel: ioremap_trace_core, iounmap_trace_core, pre and post.
func (s *state) access(c *machine.CPU, a *machine.MMIO) {
	at := slices.IndexFunc(s.maps, func(m mapping) bool { return a.Virt-m.virt < m.size })
	switch a.Kind {
	case machine.MMIOMap:
		s.ids++
		s.maps = append(s.maps, mapping{a.Virt, a.Len, a.Phys, s.ids})
		s.recordMapping(c, events.MmiotraceMapRecord{Phys: a.Phys, Virt: a.Virt, Len: a.Len, MapID: s.ids, Opcode: uint8(a.Kind)})
	case machine.MMIOUnmap:
		rec := events.MmiotraceMapRecord{Virt: a.Virt, MapID: -1, Opcode: uint8(a.Kind)}
		if at >= 0 && s.maps[at].virt == a.Virt {
			rec.MapID = s.maps[at].id
			s.maps = slices.Delete(s.maps, at, at+1)
		}
		s.recordMapping(c, rec)
	default:
		if at < 0 {
			return
		}
		m := &s.maps[at]
		h := s.context(c)
		s.rw = events.MmiotraceRWRecord{Phys: a.Virt - m.virt + m.phys, Value: a.Value, MapID: m.id, Opcode: uint8(a.Kind), Width: a.Width}
		s.scratch = events.MmiotraceRW.Append(s.scratch[:0], h, &s.rw)
		s.record(c, events.MmiotraceRW.Type, h)
	}
}

func (s *state) recordMapping(c *machine.CPU, rec events.MmiotraceMapRecord) {
	h := s.context(c)
	s.lastMap = rec
	s.scratch = events.MmiotraceMap.Append(s.scratch[:0], h, &s.lastMap)
	s.record(c, events.MmiotraceMap.Type, h)
}

// context gives the common fields of a record. The tracer asks for the flags of a
// context in which interrupts are off, and preemption is disabled because it holds a
// lock or handles a fault.
func (s *state) context(c *machine.CPU) event.Common {
	h := s.ft.Common(c).Unpreemptible()
	h.Flags |= event.FlagIRQsOff
	return h
}

// record writes the record in scratch. If there is no room, it counts the record.
//
// Kernel: __trace_mmiotrace_rw and __trace_mmiotrace_map.
func (s *state) record(c *machine.CPU, t *event.Type, h event.Common) {
	if s.of.Write(c, s.scratch) != nil {
		s.dropped++
	} else {
		s.of.Stacks(c, t, h)
	}
}

// pipe gives the text of an open trace_pipe of mmiotrace besides the records.
type pipe struct {
	s       *state
	tr      plugin.Trace
	begun   bool // the version was printed
	devices []machine.PCIDevice
}

// version is the first line of trace_pipe.
const version = "VERSION 20070824\n"

// next appends the next piece of that text. Before all records come the version and the
// devices, one at a time. Later it reports that records were lost, as soon as that is
// known.
//
// Kernel: mmio_pipe_open and mmio_read.
func (p *pipe) next(dst []byte) []byte {
	if !p.begun {
		p.begun, p.devices = true, machine.PCIDevices()
		return append(dst, version...)
	}
	s := p.s
	lost, over := s.dropped, p.tr.Overrun()
	if over > s.overruns {
		lost += over - s.overruns
	}
	s.dropped, s.overruns = 0, over
	if lost > 0 {
		return fmt.Appendf(dst, "MARK 0.000000 Lost %d events.\n", lost)
	}
	if len(p.devices) > 0 {
		dst = appendPCIDevice(dst, &p.devices[0])
		p.devices = p.devices[1:]
	}
	return dst
}

// Kernel: mmio_print_pcidev.
func appendPCIDevice(dst []byte, d *machine.PCIDevice) []byte {
	dst = fmt.Appendf(dst, "PCIDEV %02x%02x %04x%04x %x", d.Bus, d.DevFn, d.Vendor, d.Device, d.IRQ)
	for _, r := range d.Regions {
		dst = fmt.Appendf(dst, " %x", r.Start|uint64(r.Flags))
	}
	for _, r := range d.Regions {
		dst = fmt.Appendf(dst, " %x", r.Size)
	}
	return fmt.Appendf(dst, " %s\n", d.Driver)
}
