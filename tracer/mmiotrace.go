package tracer

import (
	"fmt"
	"slices"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload/machine"
)

// mmiotrace records what drivers do with the memory of devices: of mappings that are
// made while it is current. Other CPUs than the first are offline then.
//
// Departure: an access takes no longer while it is traced, and the parameters of the
// kernel's command line (filter_offset, nommiotrace, trace_pc) are not there.
//
// Kernel: kernel/trace/trace_mmiotrace.c, arch/x86/mm/mmio-mod.c.
type mmiotrace struct {
	// The records that are written, so that none is allocated.
	rw       events.MmiotraceRWRecord
	mapping  events.MmiotraceMapRecord
	of       *Instance // nil: nobody
	maps     []mmioMap
	ids      int32          // mappings seen, ever
	downed   []*machine.CPU // taken offline
	overruns uint64         // of the buffer, that were told
	dropped  uint64         // records without room, to be told
}

type mmioMap struct {
	virt, size, phys uint64
	id               int32
}

// mmioTracer is the row of mmiotrace.
func mmioTracer() Tracer {
	return Tracer{
		Name:  "mmiotrace",
		start: (*Instance).mmioResetData,
		init: func(tr *Instance) error {
			tr.mmioResetData()
			tr.ft.enterUniprocessor()
			tr.ft.mmio.of = tr
			return nil
		},
		reset: func(tr *Instance) {
			tr.ft.mmio.of, tr.ft.mmio.maps = nil, nil
			tr.ft.leaveUniprocessor()
			tr.mmioResetData()
		},
	}
}

// Kernel: mmio_reset_data.
func (tr *Instance) mmioResetData() {
	tr.ft.mmio.overruns, tr.ft.mmio.dropped = 0, 0
	tr.resetBuffer()
}

// maxHotplug is how long CPUs may take to go.
const maxHotplug = 10 * machine.Second

// enterUniprocessor takes all CPUs offline but the first, and lets time pass until
// they are.
//
// Kernel: enter_uniprocessor, arch/x86/mm/mmio-mod.c.
func (ft *Ftrace) enterUniprocessor() {
	m := ft.machine
	for _, c := range m.CPUs()[1:] {
		if c.Online() && m.SetOnline(c.ID, false) == nil {
			ft.mmio.downed = append(ft.mmio.downed, c)
		}
	}
	for end := m.Now() + maxHotplug; m.OnlineCPUs() > 1 && m.Now() < end; {
		ft.run(machine.Millisecond)
	}
}

// Kernel: leave_uniprocessor.
func (ft *Ftrace) leaveUniprocessor() {
	for _, c := range ft.mmio.downed {
		_ = ft.machine.SetOnline(c.ID, true) // it was
	}
	ft.mmio.downed = nil
}

// mmioAccess records what a driver does.
//
// Kernel: ioremap_trace_core, iounmap_trace_core, pre and post.
func (ft *Ftrace) mmioAccess(c *machine.CPU, a *machine.MMIO) {
	s := &ft.mmio
	at := slices.IndexFunc(s.maps, func(m mmioMap) bool { return a.Virt-m.virt < m.size })
	switch a.Kind {
	case machine.MMIOMap:
		s.ids++
		s.maps = append(s.maps, mmioMap{a.Virt, a.Len, a.Phys, s.ids})
		ft.mmioMapping(c, events.MmiotraceMapRecord{Phys: a.Phys, Virt: a.Virt, Len: a.Len, MapID: s.ids, Opcode: uint8(a.Kind)})
	case machine.MMIOUnmap:
		rec := events.MmiotraceMapRecord{Virt: a.Virt, MapID: -1, Opcode: uint8(a.Kind)}
		if at >= 0 && s.maps[at].virt == a.Virt {
			rec.MapID = s.maps[at].id
			s.maps = slices.Delete(s.maps, at, at+1)
		}
		ft.mmioMapping(c, rec)
	default:
		if at < 0 {
			return
		}
		m := &s.maps[at]
		h := mmioContext(c)
		s.rw = events.MmiotraceRWRecord{Phys: a.Virt - m.virt + m.phys, Value: a.Value, MapID: m.id, Opcode: uint8(a.Kind), Width: a.Width}
		s.of.scratch = events.MmiotraceRW.Append(s.of.scratch[:0], h, &s.rw)
		ft.mmioRecord(c, events.MmiotraceRW.Type, h)
	}
}

func (ft *Ftrace) mmioMapping(c *machine.CPU, rec events.MmiotraceMapRecord) {
	h := mmioContext(c)
	tr := ft.mmio.of
	ft.mmio.mapping = rec
	tr.scratch = events.MmiotraceMap.Append(tr.scratch[:0], h, &ft.mmio.mapping)
	ft.mmioRecord(c, events.MmiotraceMap.Type, h)
}

// mmioContext is the context of a record: the tracer asks for the flags of one in which
// interrupts were off, and holds a lock or handles a fault.
func mmioContext(c *machine.CPU) event.Common {
	h := unpreemptible(common(c))
	h.Flags |= flagIRQsOff
	return h
}

// mmioRecord writes the record in scratch. One without room is counted.
//
// Kernel: __trace_mmiotrace_rw and __trace_mmiotrace_map.
func (ft *Ftrace) mmioRecord(c *machine.CPU, t *event.Type, h event.Common) {
	tr := ft.mmio.of
	ft.running = c
	if tr.rec.Event(c.ID, contextOf(c), tr.scratch) != nil {
		ft.mmio.dropped++
	} else {
		tr.stacks(tr.rec, c, contextOf(c), t, h)
	}
	ft.running = nil
}

// mmioPipe is what an open trace_pipe of mmiotrace says besides records.
type mmioPipe struct {
	version bool // was told
	devices []machine.PCIDevice
}

// mmioVersion is the first line of trace_pipe.
const mmioVersion = "VERSION 20070824\n"

// next is what comes before any records: the version and, one at a time, the devices;
// and that records were lost, as soon as it is known.
//
// Kernel: mmio_pipe_open and mmio_read.
func (p *mmioPipe) next(dst []byte, tr *Instance) []byte {
	if !p.version {
		p.version, p.devices = true, machine.PCIDevices()
		return append(dst, mmioVersion...)
	}
	s := &tr.ft.mmio
	lost, over := s.dropped, uint64(0)
	for cpu := range tr.buf.CPUs() {
		over += tr.buf.Stats(cpu).Overrun
	}
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
