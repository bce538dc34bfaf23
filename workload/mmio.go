package workload

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/machine/klog"
)

// mmioTest does the work of the module testmmiotrace: it maps the memory at an address,
// writes to it and reads it back, and then maps it a few more times.
//
// Departure: a wait for RCU is left out.
// The task that loads the module is a kernel thread.
//
// Kernel: arch/x86/mm/testmmiotrace.c.
type mmioTest struct {
	a       *machine.Assembler
	do      []func(c *machine.CPU) // what happens at each probe of the code
	base    uint64                 // where the mapping begins
	address uint64
	errors  [3]uint32 // how many errors there were with 8, 16 and 32 bits
}

// Sizes of the mapping without and with a read far from its beginning.
const (
	mmioTestNear = 16 << 10
	mmioTestFar  = 8 << 20
)

// startMMIOTest is the init function of the module. Errors: ENXIO without an address,
// EINVAL for a parameter that is no number.
func startMMIOTest(m *machine.Machine, params map[string]string) (done func() bool, err error) {
	number := func(name string) (n uint64) {
		n, perr := strconv.ParseUint(params[name], 0, 64)
		if perr != nil {
			err = fmt.Errorf("%s=%s: %w", name, params[name], syscall.EINVAL)
		}
		return n
	}
	address, far := number("mmio_address"), number("read_far")
	if err != nil {
		return nil, err
	}
	if address == 0 {
		m.Printk(klog.Err, "testmmiotrace: you have to use the module argument mmio_address.")
		m.Printk(klog.Err, "testmmiotrace: DO NOT LOAD THIS MODULE UNLESS YOU REALLY KNOW WHAT YOU ARE DOING!")
		return nil, fmt.Errorf("testmmiotrace without mmio_address: %w", syscall.ENXIO)
	}
	t := &mmioTest{address: address}
	size := mmioTestNear
	if far != 0 {
		size = mmioTestFar
	}
	m.Printk(klog.Warning, "testmmiotrace: WARNING: mapping %d kB @ 0x%08x in PCI address space, and writing 16 kB of rubbish in there.", size>>10, address)
	code, err := m.Assemble(50, func(a *machine.Assembler) { t.init(a, far) })
	if err != nil {
		return nil, err
	}
	step := 0
	return startTask(m, machine.TaskConfig{Comm: "modprobe", Kernel: true}, machine.Stay{
		Kind: machine.KernelWork, After: machine.Microsecond, Code: code,
		Probe: func(c *machine.CPU) { t.do[step](c); step++ },
	}), nil
}

func (t *mmioTest) init(a *machine.Assembler, far uint64) {
	t.a = a
	a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("do_init_module").Call("do_one_initcall")
	size := uint64(mmioTestNear)
	if far != 0 {
		size = mmioTestFar
	}
	t.remap(size)
	t.say("ioremap returned %s.\n", func() []any { return []any{machine.Pointer(t.base)} })
	t.say("Write test.\n", nil)
	t.all(func(off uint64, width uint8, value uint64) {
		t.probe(fmt.Sprintf("iowrite%d", 8*width), func(c *machine.CPU) { c.IOWrite(t.base+off, width, value) })
	})
	t.say("Read test.\n", nil)
	t.all(func(off uint64, width uint8, value uint64) {
		t.probe(fmt.Sprintf("ioread%d", 8*width), func(c *machine.CPU) {
			if c.IORead(t.base+off, width) != value {
				t.errors[width/2]++
			}
		})
	})
	t.say("Read errors: 8-bit %d, 16-bit %d, 32-bit %d.\n", func() []any { return []any{t.errors[0], t.errors[1], t.errors[2]} })
	if far != 0 && far < size-4 {
		t.say("Read far test.\n", nil)
		t.probe("ioread32", func(c *machine.CPU) { c.IORead(t.base+far, 4) })
	}
	t.unmap()
	for range 10 {
		t.remap(4096)
		t.unmap()
	}
	last := &t.do[len(t.do)-1]
	unmap := *last
	*last = func(c *machine.CPU) {
		unmap(c)
		c.Printk(klog.Info, "testmmiotrace: All done.")
	}
	a.Return(2).Call("do_exit").Trace(machine.EvSchedExit, 0)
	a.Call("do_task_dead").State(machine.FlagIRQsOff, 1, 0).Hide("__schedule").Switch(machine.StateDead).Return(5)
}

// all calls access for each place that the test writes and reads, with the value that
// belongs there.
func (t *mmioTest) all(access func(off uint64, width uint8, value uint64)) {
	for n := uint64(0); n < 256; n++ {
		access(n, 1, n)
	}
	for n := uint64(1024); n < 5*1024; n += 2 {
		access(n, 2, uint64(uint16(n*12+7)))
	}
	for n := uint64(5 * 1024); n < 16*1024; n += 4 {
		access(n, 4, uint64(uint32(n*212371+13)))
	}
}

// probe adds a call of a function that is not traced. do runs inside it.
func (t *mmioTest) probe(name string, do func(*machine.CPU)) {
	t.a.Hide(name).Probe().Return(1)
	t.do = append(t.do, do)
}

func (t *mmioTest) remap(size uint64) {
	t.a.Call("ioremap").Call("__ioremap_caller").Call("memtype_reserve").Return(1)
	t.a.Call("get_vm_area_caller").Call("__get_vm_area_node").Return(2).Call("ioremap_page_range").Return(1)
	t.a.Call("mmiotrace_ioremap")
	t.probe("mmio_trace_mapping", func(c *machine.CPU) { t.base = c.IORemap(t.address, size) })
	t.a.Return(3)
}

func (t *mmioTest) unmap() {
	t.a.Call("iounmap").Call("mmiotrace_iounmap")
	t.probe("mmio_trace_mapping", func(c *machine.CPU) { c.IOUnmap(t.base) })
	t.a.Return(1).Call("memtype_free").Return(1).Call("remove_vm_area").Return(2)
}

// say adds a remark in the trace. args is called when the remark is made. That a part of the
// test begins stands in the kernel's log, too.
func (t *mmioTest) say(text string, args func() []any) {
	t.a.Call("mmiotrace_printk")
	t.probe("trace_vprintk", func(c *machine.CPU) {
		if part, ok := strings.CutSuffix(text, " test.\n"); ok {
			c.Printk(klog.Info, "testmmiotrace: %s test.", strings.ToLower(part))
		}
		if args == nil {
			c.MMIOPrintk(text)
		} else {
			c.MMIOPrintk(text, args()...)
		}
	})
	t.a.Return(1)
}
