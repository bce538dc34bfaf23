package workload

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/machine"
	"ftracelab/machine/klog"
)

// module is a kernel module that can be loaded: the driver of a device, or one of the
// modules that belong to the kernel's own tests of tracing.
type module struct {
	machine.Module
	// symbols gives the functions of a module whose addresses are known; it may be nil.
	symbols func() ([]machine.Symbol, error)
	params  map[string]string // the defaults of the parameters, by name
	// start does what the module's init function does; done reports whether that has
	// returned.
	start func(m *machine.Machine, params map[string]string) (done func() bool, err error)
	stop  func(m *machine.Machine) error // runs before the module is unloaded; may be nil
	// end does what the module's exit function does; done reports whether that has
	// returned. It may be nil.
	end func(m *machine.Machine) (done func() bool)
}

// modules gives all modules, sorted by name.
func modules() []module {
	return []module{
		{
			Module: machine.Module{Name: "preemptirq_delay_test", Functions: delayFunctions()},
			params: map[string]string{"delay": "100", "test_mode": "irq", "burst_size": "1", "cpu_affinity": "-1"},
			start:  startDelayTest,
		},
		dummy(),
		{Module: machine.Module{
			Name: "ftrace_direct", Functions: []string{"my_tramp", "my_direct_func"}, Formats: []string{wakingText},
			Direct: []machine.Direct{{At: "wake_up_process", Trampoline: "my_tramp", Func: "my_direct_func", Say: sayWaking}},
		}},
		{Module: machine.Module{
			Name: "ftrace_direct_too", Functions: []string{"my_tramp", "my_direct_func"}, Formats: []string{faultText},
			Direct: []machine.Direct{{At: "handle_mm_fault", Trampoline: "my_tramp", Func: "my_direct_func", Say: sayFault}},
		}},
		{Module: machine.Module{Name: "trace_printk", Functions: []string{"trace_printk_irq_work"}, Formats: printkFormats()}, start: startTracePrintk},
		{Module: machine.Module{Name: "virtio_blk", Functions: diskFunctions, Block: true}, start: startDisk, stop: stopDisk},
		sampleModule(),
		{
			Module: machine.Module{Name: "testmmiotrace", Functions: []string{"cleanup_module"}},
			params: map[string]string{"mmio_address": "0", "read_far": "0x400100"},
			start:  startMMIOTest,
		},
	}
}

// ModuleNames lists the modules that Modprobe can load.
func ModuleNames() []string {
	var names []string
	for _, mod := range modules() {
		names = append(names, mod.Name)
	}
	return names
}

// moduleTimeout is how long the init function of a module may take.
const moduleTimeout = 60 * machine.Second

// Lab has a machine and lets it run; a tracer.Ftrace is one.
type Lab interface {
	// Do calls do while the machine stands still.
	Do(do func(*machine.Machine) error) error
	Run(d machine.Time)
}

// Modprobe loads a module with parameters NAME=VALUE, and lets simulated time pass
// until its init function has returned. In the name, a dash means the same as an
// underscore. If the module is loaded already, Modprobe does nothing.
//
// Errors: ENOENT if there is no such module, EINVAL for wrong parameters. A parameter that a
// module does not have is ignored, and the kernel's log says so.
//
// Departure: only a few modules exist. They came with the kernel and taint nothing.
//
// Kernel: unknown_module_param_cb, kernel/module/main.c.
func Modprobe(lab Lab, name string, params []string) error {
	name = ModuleName(name)
	mod := findModule(name)
	if mod == nil {
		return fmt.Errorf("module %s: %w", name, syscall.ENOENT)
	}
	var unknown []string
	for _, param := range params {
		key, value, ok := strings.Cut(param, "=")
		_, known := mod.params[key]
		if !known {
			unknown = append(unknown, key)
			continue
		}
		if !ok {
			return fmt.Errorf("module %s: parameter %q: %w", name, param, syscall.EINVAL)
		}
		mod.params[key] = value
	}
	done := func() bool { return true }
	err := lab.Do(func(m *machine.Machine) (err error) {
		loaded := m.HasModule(name) // activities load the driver without a disk
		if loaded && (!mod.Block || HasDisk(m)) {
			return nil
		}
		if !loaded && mod.symbols != nil {
			mod.Symbols, err = mod.symbols()
		}
		if !loaded && err == nil {
			err = m.LoadModule(mod.Module)
		}
		for _, key := range unknown {
			m.Printk(klog.Warning, "%s: unknown parameter '%s' ignored", name, key)
		}
		if err != nil || mod.start == nil {
			return err
		}
		if done, err = mod.start(m, mod.params); err != nil {
			_ = m.UnloadModule(name) // cannot fail: it was loaded above
		}
		return err
	})
	if err != nil {
		return err
	}
	return await(lab, "module "+name, moduleTimeout, done)
}

// Rmmod unloads a module. Errors: ENOENT if it is not loaded, EBUSY if it is in use.
func Rmmod(lab Lab, name string) error {
	name = ModuleName(name)
	if err := lab.Do(func(m *machine.Machine) error {
		if m.ModuleRefs(name) > 0 {
			return fmt.Errorf("module %s is in use: %w", name, syscall.EBUSY)
		}
		return nil
	}); err != nil {
		return err
	}
	if mod := findModule(name); mod != nil && mod.end != nil {
		if err := endModule(lab, mod); err != nil {
			return err
		}
	}
	return lab.Do(func(m *machine.Machine) error {
		if mod := findModule(name); mod != nil && mod.stop != nil && m.HasModule(name) {
			if err := mod.stop(m); err != nil {
				return err
			}
		}
		return m.UnloadModule(name)
	})
}

// endModule runs the exit function of a loaded module and waits for it.
func endModule(lab Lab, mod *module) error {
	done := func() bool { return true }
	_ = lab.Do(func(m *machine.Machine) error { // returns no error
		if m.HasModule(mod.Name) {
			done = mod.end(m)
		}
		return nil
	})
	return await(lab, "module "+mod.Name, moduleTimeout, done)
}

// findModule returns the module with that name; nil if there is none.
func findModule(name string) *module {
	for _, mod := range modules() {
		if mod.Name == name {
			return &mod
		}
	}
	return nil
}

// await lets simulated time pass until done reports true. Errors: EINTR if that takes
// longer than limit.
func await(lab Lab, what string, limit machine.Time, done func() bool) error {
	for waited := machine.Time(0); ; waited += machine.Millisecond {
		ready := false
		_ = lab.Do(func(*machine.Machine) error { ready = done(); return nil }) // returns no error
		switch {
		case ready:
			return nil
		case waited >= limit:
			return fmt.Errorf("%s: not done after %d s: %w", what, limit/machine.Second, syscall.EINTR)
		}
		lab.Run(machine.Millisecond)
	}
}

// Hotplug takes a CPU online or offline, and lets simulated time pass until that is
// done. Errors are those of machine.SetOnline.
func Hotplug(lab Lab, cpu int, on bool) error {
	var c *machine.CPU
	err := lab.Do(func(m *machine.Machine) error {
		if err := m.SetOnline(cpu, on); err != nil {
			return err
		}
		c = m.CPUs()[cpu]
		return nil
	})
	if err != nil {
		return err
	}
	return await(lab, fmt.Sprintf("cpu%d", cpu), moduleTimeout, func() bool { return c.Online() == on })
}

// ModuleName gives the kernel's name for a module: the last part of a path, without
// .ko, with underscores instead of dashes.
func ModuleName(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.ReplaceAll(strings.TrimSuffix(name, ".ko"), "-", "_")
}

// delayTests is how many test functions the module preemptirq_delay_test has.
const delayTests = 10

func delayFunctions() []string {
	names := []string{"preemptirq_delay_run", "preemptirq_run_test"}
	for i := range delayTests {
		names = append(names, fmt.Sprintf("preemptirqtest_%d", i))
	}
	return append(names, "trigger_store")
}

// maxDelay is the largest value of the parameter delay, in µs.
const maxDelay = 4_000_000

// startDelayTest starts the thread that switches interrupts or preemption off
// for delay microseconds, burst_size times. The thread ends by itself.
//
// Kernel: preemptirq_run_test, kernel/trace/preemptirq_delay_test.c.
func startDelayTest(m *machine.Machine, params map[string]string) (done func() bool, err error) {
	number := func(name string, lo, hi int) int {
		n, perr := strconv.Atoi(params[name])
		if err == nil && (perr != nil || n < lo || n > hi) {
			err = fmt.Errorf("%s=%s: %w", name, params[name], syscall.EINVAL)
		}
		return n
	}
	delay, burst := number("delay", 0, maxDelay), number("burst_size", 0, 1<<31)
	cpu := number("cpu_affinity", -1, len(m.CPUs())-1)
	if err != nil {
		return nil, err
	}
	code, err := m.Assemble(150, func(a *machine.Assembler) {
		a.Hide("ret_from_fork_asm").Hide("ret_from_fork").Call("kthread").Call("preemptirq_delay_run")
		for i := range min(burst, delayTests) {
			a.Call(fmt.Sprintf("preemptirqtest_%d", i))
			switch mode := params["test_mode"]; {
			case mode == "irq", mode == "alternate" && i%2 == 0:
				a.State(machine.FlagIRQsOff, 0, 0)
			case mode == "preempt", mode == "alternate":
				a.State(0, 1, 0)
			}
			a.Hide("trace_clock_local").Return(1).Wait(uint32(delay) * 1000).Hide("trace_clock_local").Return(1)
			a.State(0, 0, 0).Return(1)
		}
		a.Call("complete").Return(1).Return(1).Exit().Return(3)
	})
	if err != nil {
		return nil, err
	}
	comm := (params["test_mode"] + "_test")[:min(15, len(params["test_mode"])+5)]
	return startInit(m, comm, max(cpu, 0), cpu >= 0, code), nil
}
