package machine

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:generate go run ftracelab/internal/learn -calls callsites.txt

// callSites is where functions that code in this tree names call each other. The file says
// what its lines are.
//
//go:embed callsites.txt
var callSites string

// coded gives the calls and jumps of callSites: CALLER CALLEE → OFFSET, or "jump".
var coded = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, strings.Count(callSites, "\n"))
	for line := range strings.Lines(callSites) {
		if line[0] == '#' || line[0] == '\n' {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		last := strings.LastIndexByte(line, ' ')
		m[line[:last]] = line[last+1:]
	}
	return m
})

// callSite is the address to which callee returns when the function at caller has called
// it. jump says that the kernel's code jumps there instead. If nothing is known of such a
// call, an address inside the caller is made up.
func callSite(ks *Kallsyms, caller, callee uint64) (ret uint64, jump bool) {
	from, ok := ks.At(caller)
	to, found := ks.At(callee)
	if ok && found && from.Module == "" {
		at := coded()[from.Name+" "+to.Name]
		if at == "" {
			at = coded()[from.Name+" *"]
		}
		var offset uint64
		switch _, err := fmt.Sscanf(at, "0x%x", &offset); {
		case at == "jump":
			return 0, true
		case err == nil:
			return caller + offset, false
		}
	}
	return madeUp(from, caller, callee), false
}

// CallSite is the address to which callee returns when the function at caller has called
// it, as the code of the kernel has it. callsites.txt has the calls of functions that code
// written by hand names; what is learned from captures knows its own.
//
// Departure: between functions of modules, and where code that is written by hand leaves out
// the functions between two others, the address is made up. It is inside the right function
// but does not follow a call instruction.
func CallSite(ks *Kallsyms, caller, callee uint64) uint64 {
	ret, jump := callSite(ks, caller, callee)
	if jump {
		from, _ := ks.At(caller)
		return madeUp(from, caller, callee)
	}
	return ret
}

// madeUp is an address inside a function, always the same for the same callee.
func madeUp(from Symbol, caller, callee uint64) uint64 {
	size := uint64(64)
	if from.Size > 0 {
		size = from.Size
	}
	first := uint64(endbrSize + 2*callSize)
	if size <= first {
		return caller + size - 1
	}
	h := (callee>>4*0x9e3779b97f4a7c15 ^ caller) * 0xbf58476d1ce4e5b9
	return caller + first + (h>>17)%(size-first)
}

// ReturnAddress is the address to which callee returns when caller has called it. It is
// the one in the code of the running kernel; if that has no such call, CallSite says it.
// It is 0 if there are no such functions.
func (m *Machine) ReturnAddress(caller, callee string) uint64 {
	from, ok := m.kallsyms.ByName(caller)
	to, found := m.kallsyms.ByName(callee)
	if !ok || !found {
		return 0
	}
	for i := range m.kernel.Sites {
		if s := &m.kernel.Sites[i]; s.Func == to.Addr && s.Ret-from.Addr < from.Size {
			return s.Ret
		}
	}
	return CallSite(m.kallsyms, from.Addr, to.Addr)
}
