package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ftracelab/machine"
	"ftracelab/stackmap"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/tracer/dynevent"
	"ftracelab/tracer/record"
	"ftracelab/unwind"
	"ftracelab/workload"
)

// labFlags say which machine to simulate, and how its kernel is built.
type labFlags struct {
	cpus     int
	seed     uint64
	preset   string
	bits     string
	options  string
	tpPrintk bool
	deferred bool
	unwind   string
	fprobe   string
	slots    int
	own      bool
	instance []string
	set      []string
	program  programFlags

	wait    func(context.Context) error // tracer.Config.Wait, for a lab whose time is live
	changed func(file string)           // tracer.Config.Changed, likewise
	console io.Writer                   // klog.Log.Console
	files   dynevent.UserFiles          // tracer.Config.Files
	foreign machine.PIDs                // machine.Config.Foreign
}

const cpusFlag = "cpus"

const (
	unwindFlag  = "unwind"
	unwindUsage = "how user stacks are unwound later, where it is not as in 6.17: compat=walk, nmi=refuse, cookies=january, exec=late, cache=512; several with commas"
)

func (f *labFlags) register(fl *pflag.FlagSet) {
	fl.IntVar(&f.cpus, cpusFlag, defaultCPUs, "simulated CPUs")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of every random stream")
	fl.StringVar(&f.preset, "stackmap", "documented", "stackmap of the kernel: documented, v2, v4 or none; :KEY=VALUE,… changes a field, as in documented:per-instance=yes")
	fl.StringVar(&f.bits, "ftrace_stackmap.bits", "", "boot parameter: the map holds 2^bits stacks (10…18, default 14)")
	fl.StringVar(&f.options, "trace_options", "", "boot parameter: options to begin with, as stackmap,stacktrace; the stack map comes 5 ms later")
	fl.BoolVar(&f.tpPrintk, "tp_printk", false, "boot parameter: print events to the kernel's log, too, where dmesg shows them")
	fl.BoolVar(&f.deferred, "unwind-deferred", false, "a kernel with options/userstacktrace_delay")
	fl.StringVar(&f.unwind, unwindFlag, "", unwindUsage)
	fl.StringVar(&f.fprobe, "fprobe", "6.12", "how fprobes see functions: 6.12 (a pool of nodes each), 6.14 (the shadow stack), or entry-only (as 6.14, but without it where no return is wanted)")
	fl.IntVar(&f.slots, "return-slots", 0, "a kernel with the tracer return of 2008, which uses so many slots (1…32); the patch as it was posted has 1")
	fl.BoolVar(&f.own, "own-files", false, "add the folder ftracelab, which no kernel has: what return hooks and tasks with deferred user stacks keep, as text")
	fl.StringArrayVar(&f.instance, "instance", nil, "make the folder instances/NAME, before --set")
	f.program.register(fl)
	fl.StringArrayVar(&f.set, "set", nil, "write VALUE to a tracefs file before the run: FILE=VALUE")
}

// lab is a simulated machine with its tracefs.
type lab struct {
	machine *machine.Machine
	ft      *tracer.Ftrace
	fs      *tracefsfs.FS
	cmdline string // of the kernel
}

// check refuses what no machine and no map can have.
func (f *labFlags) check() error {
	if f.cpus < 1 || f.cpus > machine.MaxCPUs {
		return fmt.Errorf("--cpus %d: want 1 to %d", f.cpus, machine.MaxCPUs)
	}
	if f.bits == "" {
		return nil
	}
	// A kernel clamps such a number. Who types it here wants to know.
	if n, err := strconv.ParseInt(f.bits, 0, 64); err == nil && n >= 0 && (n < stackmap.MinBits || n > stackmap.MaxBits) {
		return fmt.Errorf("--ftrace_stackmap.bits %s: want %d to %d", f.bits, stackmap.MinBits, stackmap.MaxBits)
	}
	return nil
}

func (f *labFlags) build(scenario string) (*lab, error) {
	if err := f.check(); err != nil {
		return nil, usageError{err}
	}
	collectLater()
	cfg := tracer.Config{
		DeferredUnwind: f.deferred, NoStackmap: f.preset == "none", BootOptions: f.options, Wait: f.wait, Changed: f.changed, Files: f.files,
		ReturnSlots: f.slots, OwnFiles: f.own, FunctionProfiler: true, FunctionGraphRetval: true, TracepointPrintk: f.tpPrintk,
	}
	if f.fprobe != "" { // the zero value of the flags is 6.12
		var err error
		if cfg.Fprobe, err = dynevent.ParseFprobeDesign(f.fprobe); err != nil {
			return nil, usageError{fmt.Errorf("--fprobe: %w", err)}
		}
	}
	var err error
	if cfg.Unwind, err = unwind.ParseConfig(f.unwind); err != nil {
		return nil, usageError{fmt.Errorf("--%s: %w", unwindFlag, err)}
	}
	if f.preset != "none" {
		var err error
		if cfg.Stackmap, err = record.ParseMap(f.preset); err != nil {
			return nil, usageError{fmt.Errorf("--stackmap: %w (or none)", err)}
		}
	}
	var malformed []string
	if f.bits != "" {
		bits, err := stackmap.ParseBits(f.bits)
		if err != nil {
			malformed = append(malformed, "ftrace_stackmap.bits")
		}
		if err != nil && f.console != nil {
			// The kernel boots with the default. Its console does not show the message, but who
			// typed the flag wants to know.
			fmt.Fprintln(f.console, "Malformed early option 'ftrace_stackmap.bits'")
		}
		cfg.Stackmap.Bits = bits
	}
	if err := f.program.configure(&cfg); err != nil {
		return nil, err
	}
	s, err := workload.Find(scenario)
	if err != nil {
		return nil, usageError{err}
	}
	m, err := machine.New(machine.Config{CPUs: f.cpus, Seed: f.seed, Foreign: f.foreign, Cmdline: f.cmdline(), Malformed: malformed})
	if err != nil {
		return nil, usageError{err}
	}
	m.Log().Console = f.console
	if err := s.Start(m); err != nil {
		return nil, err
	}
	if err := f.program.start(m, f.console); err != nil {
		return nil, err
	}
	ft, err := tracer.New(m, cfg)
	if err != nil {
		return nil, usageError{err}
	}
	if err := ft.Ignored(); err != nil { // a kernel would log it, but nobody reads the log of a simulated boot
		return nil, usageError{fmt.Errorf("--%w", err)}
	}
	l := &lab{m, ft, tracefsfs.New(ft.Root()), f.cmdline() + "\n"}
	for _, name := range f.instance {
		if err := l.fs.Mkdir("instances/" + name); err != nil {
			return nil, fmt.Errorf("--instance %s: %w", name, err)
		}
	}
	for _, assignment := range f.set {
		file, value, ok := strings.Cut(assignment, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--set %q: want FILE=VALUE", assignment)}
		}
		if err := tracefsfs.WriteFile(l.fs, file, value+"\n"); err != nil {
			return nil, fmt.Errorf("--set %s: %w", assignment, err)
		}
	}
	return l, nil
}

// cmdline is the kernel's command line: the boot parameters among the flags.
func (f *labFlags) cmdline() string {
	words := []string{"BOOT_IMAGE=/boot/vmlinuz-" + machine.Release, "quiet"}
	if f.bits != "" {
		words = append(words, "ftrace_stackmap.bits="+f.bits)
	}
	if f.options != "" {
		words = append(words, "trace_options="+f.options)
	}
	if f.tpPrintk {
		words = append(words, "tp_printk")
	}
	return strings.Join(words, " ")
}

// runStep is the simulated time after which a long run checks again whether it was
// interrupted.
const runStep = machine.Millisecond

// run lets simulated time pass.
func (l *lab) run(ctx context.Context, d machine.Time) error {
	return l.runTold(ctx, d, func(machine.Time) {})
}

// runTold is run that tells from time to time how much of d has passed.
func (l *lab) runTold(ctx context.Context, d machine.Time, tell func(passed machine.Time)) error {
	for left := d; left > 0; left -= min(left, runStep) {
		if err := ctx.Err(); err != nil {
			return err
		}
		tell(d - left)
		l.ft.Run(min(left, runStep))
	}
	return nil
}

// defaultCPUs is how many CPUs a simulated machine has if nothing else is said.
const defaultCPUs = 4
