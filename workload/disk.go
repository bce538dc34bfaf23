package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"

	"ftracelab/machine"
)

// The block device that appears with the module virtio_blk.
const (
	DiskName    = "vda"
	DiskMajor   = 254
	DiskSectors = 64 << 20 >> 9 // sectors have 512 bytes
)

const (
	pageSize    = 4096
	pageSectors = pageSize >> 9
	diskPages   = DiskSectors / pageSectors
)

// disk is the device, its driver and its queue.
//
// Departure: the disk keeps nothing. What is written is lost, and reads give zeros.
type disk struct {
	w     *mix
	rng   *rand.Rand
	done  [2]machine.Code // handlers of its interrupts, after a read and a write
	codes map[string]machine.Code
	files []*DiskFile
}

// diskFunctions are the functions of the driver that the model calls.
var diskFunctions = []string{
	"virtblk_done", "virtblk_add_req", "virtblk_prep_rq.isra.0", "virtblk_request_done",
	"virtblk_add_req_batch", "virtio_queue_rqs",
}

// startDisk adds the device to the machine.
//
// Departure: no calls and events show that the driver looks for its device.
//
// Kernel: virtblk_probe, drivers/block/virtio_blk.c.
func startDisk(m *machine.Machine, _ map[string]string) (done func() bool, err error) {
	w, ok := m.Workload().(*mix)
	if !ok {
		return nil, fmt.Errorf("virtio_blk: the machine runs no scenario: %w", syscall.ENODEV)
	}
	d := &disk{w: w, rng: m.Rand("disk"), codes: map[string]machine.Code{}}
	for op, ends := range [][]string{machine.ReqRead: readDone, machine.ReqWrite: writeDone} {
		if d.done[op], err = m.Assemble(120, func(a *machine.Assembler) { completion(a, ends) }); err != nil {
			return nil, err
		}
	}
	w.disk = d
	return func() bool { return true }, nil
}

// startCopying loads the driver and starts a process that uses the disk.
func startCopying(m *machine.Machine) error {
	driver := findModule("virtio_blk")
	if err := m.LoadModule(driver.Module); err != nil {
		return err
	}
	if _, err := startDisk(m, nil); err != nil {
		return err
	}
	m.Workload().(*mix).disk.copying()
	return nil
}

// HasDisk reports whether there is a block device.
func HasDisk(m *machine.Machine) bool {
	w, ok := m.Workload().(*mix)
	return ok && w.disk != nil
}

// stopDisk removes the device. Errors: EBUSY while a file on it is open.
func stopDisk(m *machine.Machine) error {
	w, ok := m.Workload().(*mix)
	if !ok || w.disk == nil {
		return nil
	}
	if len(w.disk.files) > 0 {
		return fmt.Errorf("virtio_blk is in use: %w", syscall.EBUSY)
	}
	w.disk = nil
	return nil
}

// copying starts a process that reads from the beginning of the disk, then writes
// there, and repeats that.
func (d *disk) copying() {
	f := d.open(machine.TaskConfig{Comm: "dd", PID: firstPID(d.w.m) - 20, CPU: 1})
	f.write = true
	f.again = func() machine.Time {
		f.pos, f.ahead, f.known, f.moving = 0, window{}, 0, nil // the process opens the disk anew
		f.write, f.left = !f.write, 40*pageSize
		return 5*machine.Millisecond + d.rng.Uint64N(10*machine.Millisecond)
	}
}

// request makes a request. It takes the device some time, and some more for each byte.
func (d *disk) request(c *machine.CPU, op uint32, page, pages, bio uint64) *machine.Request {
	bytes := pages * pageSize
	return &machine.Request{
		Dev: DiskMajor << 20, Op: op, Sector: page * pageSectors, Bytes: uint32(bytes), Bio: uint32(bio),
		Priority: bestEffort, Latency: 40*machine.Microsecond + d.rng.Uint64N(40*machine.Microsecond) + bytes,
		IRQ: firstDiskIRQ + c.ID, Handler: diskHandler(c.ID),
	}
}

const (
	bestEffort   = 2<<13 | 4 // IOPRIO_CLASS_BE with level 4
	firstDiskIRQ = 26        // each CPU has a queue with an interrupt of its own, from this number on
)

// wakee gives a task whose request is done.
func (d *disk) wakee() *machine.Task {
	for _, f := range d.files {
		if wait, asleep := f.task.Sleeping(); asleep && wait.Class == wakeDisk && wait.Over() {
			return f.task
		}
	}
	return nil
}

// code gives the code with that name; it is built the first time it is asked for.
func (d *disk) code(name string, build func(*machine.Assembler)) machine.Code {
	if code, ok := d.codes[name]; ok {
		return code
	}
	code, err := d.w.m.Assemble(120, func(a *machine.Assembler) {
		build(a.Hide("entry_SYSCALL_64_after_hwframe").Hide("do_syscall_64").Call("x64_sys_call"))
		a.Return(3)
	})
	if err != nil {
		panic("workload: invariant: " + err.Error())
	}
	code = d.w.crossing(code)
	d.codes[name] = code
	return code
}

// crossing puts code into the frame of a learned system call: the way into the kernel
// and out of it. code brings its own two outermost functions, which are replaced.
func (w *mix) crossing(code machine.Code) machine.Code {
	around := w.codes[fmt.Sprintf("sys %d", sysClose)][0].code()
	enter := slices.IndexFunc(around, func(op machine.Op) bool { return op.Kind == machine.OpTrace && op.Event == machine.EvSysEnter })
	leave := slices.IndexFunc(around, func(op machine.Op) bool { return op.Kind == machine.OpTrace && op.Event == machine.EvSysExit })
	if enter < 0 || leave < 2 {
		panic("workload: invariant: a system call without its ends")
	}
	// Behind the entry event, the function with that event returns; in front of the
	// exit event, two functions are called.
	return slices.Concat(around[:enter+2], code[2:len(code)-2], around[leave-2:])
}

// diskHandler is the name of the handler for the interrupts of a CPU's queue.
func diskHandler(cpu int) string { return fmt.Sprintf("virtio0-req.%d", cpu) }
