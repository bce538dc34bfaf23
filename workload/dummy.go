package workload

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
)

const dummyName = "dummy"

// dummy is the network driver of that name. A process loads and unloads it with the
// functions and events of a capture: module_load, initcall_start and initcall_finish, and
// the driver's own init function between them.
//
// Departure: the driver makes no device after it is loaded, its functions are not called
// otherwise, and its init section stays in the symbol table while it is loaded.
func dummy() module {
	return module{Module: machine.Module{Name: dummyName}, symbols: dummySymbols, start: startDummy, end: endDummy}
}

// dummySymbols are the functions of the driver.
func dummySymbols() ([]machine.Symbol, error) {
	all, err := loadActivities()
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(all.Modules, func(m ActivityModule) bool { return m.Name == dummyName })
	if n < 0 {
		return nil, fmt.Errorf("module %s: %w", dummyName, syscall.ENOENT)
	}
	return all.Modules[n].Symbols, nil
}

func startDummy(m *machine.Machine, _ map[string]string) (done func() bool, err error) {
	return playOnce(m, "modules")
}

func endDummy(m *machine.Machine) (done func() bool) {
	done, err := playOnce(m, "unload")
	if err != nil {
		return func() bool { return true } // without a scenario, nobody has loaded it
	}
	return done
}

// playOnce lets a process do one round of an activity. Errors: ENODEV if the machine runs
// no scenario.
func playOnce(m *machine.Machine, name string) (done func() bool, err error) {
	w, ok := m.Workload().(*mix)
	if !ok {
		return nil, fmt.Errorf("%s: the machine runs no scenario: %w", name, syscall.ENODEV)
	}
	all, err := loadActivities()
	if err != nil {
		return nil, err
	}
	if err := w.loadLearned(all); err != nil {
		return nil, err
	}
	n := slices.IndexFunc(all.List, func(a Activity) bool { return a.Name == name })
	if n < 0 {
		return nil, fmt.Errorf("activity %s: %w", name, syscall.ENOENT)
	}
	p := w.play(all, &all.List[n])
	p.once = true
	return func() bool { return p.done }, nil
}
