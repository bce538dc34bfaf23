package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"ftracelab/machine"
	"ftracelab/tracer"
	"ftracelab/unwind/user"
	"ftracelab/workload"
	"ftracelab/workload/program"
)

// programFlags say which real programs run, and how user stacks are walked.
type programFlags struct {
	files  []string
	faults int
	stacks string
}

func (f *programFlags) register(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.files, "program", nil, "add a process that runs the ELF file FILE (x86-64 or 32-bit x86); chance decides at its branches")
	fl.IntVar(&f.faults, "program-faults", 0, "in one of so many stays in the kernel, a part of the stack of such a process is swapped out; 0: never")
	fl.StringVar(&f.stacks, "user-stacks", "fp", "how user stacks are walked: fp (frame pointers, as in 6.12), "+
		"unwind_user (frame pointers as in 6.19, which knows 32-bit programs and uprobes at the entry of a function), "+
		"sframe (SFrame, and frame pointers where a file has none; proposed), or eh_frame (as debuggers do; no kernel does)")
}

// userStacks are the ways to walk user stacks, by name. What a library that is not read has
// to say of its functions is in each of its tables.
var userStacks = map[string][]user.Method{
	"fp":          nil,
	"unwind_user": {user.FramePointer},
	"sframe":      {user.SFrame, user.FramePointer},
	"eh_frame":    {user.EhFrame},
}

func (f *programFlags) configure(cfg *tracer.Config) (err error) {
	cfg.UserStacks, err = f.methods()
	return err
}

// methods are the methods that --user-stacks names.
func (f *programFlags) methods() ([]user.Method, error) {
	if f.stacks == "" { // the zero value of the flags is fp
		return nil, nil
	}
	methods, ok := userStacks[f.stacks]
	if !ok {
		return nil, usageError{fmt.Errorf("--user-stacks %s: want %s", f.stacks, strings.Join(slices.Sorted(maps.Keys(userStacks)), ", "))}
	}
	return methods, nil
}

// start adds the processes. What a file lacks for the way in which stacks are walked is said
// on the console.
func (f *programFlags) start(m *machine.Machine, console io.Writer) error {
	if f.faults < 0 {
		return usageError{fmt.Errorf("--program-faults %d is negative", f.faults)}
	}
	if f.faults > 0 && len(f.files) == 0 {
		return usageError{errors.New("--program-faults needs --program")}
	}
	for _, path := range f.files {
		im, err := program.Load(path)
		if err != nil {
			return fmt.Errorf("--program: %w", err)
		}
		if why := im.Missing["."+f.stacks]; why != nil && console != nil {
			fmt.Fprintf(console, "--program %s: %v\n", path, why)
		}
		if err := workload.StartProgram(m, workload.ProgramConfig{Image: im, Faults: f.faults}); err != nil {
			return fmt.Errorf("--program: %w", err)
		}
	}
	return nil
}
