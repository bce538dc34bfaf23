package tracer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/workload/machine"
)

// functionFilter is set_ftrace_filter or set_ftrace_notrace: a set of function
// entries. An empty filter lets every function through.
//
// Kernel: struct ftrace_hash, kernel/trace/ftrace.c.
type functionFilter struct {
	addrs map[uint64]bool
}

func (f *functionFilter) empty() bool { return len(f.addrs) == 0 }

// write does what one word says: a function, a glob, or the number of a line of
// available_filter_functions; a leading ! takes it out.
//
// Departure: filter commands (FUNCTION:traceon and its kin) are refused with
// EINVAL.
//
// Kernel: ftrace_process_regex, kernel/trace/ftrace.c.
func (f *functionFilter) write(word string, k *machine.Kallsyms) error {
	pattern, out := strings.CutPrefix(word, "!")
	pattern, command, isCommand := strings.Cut(pattern, ":")
	module := ""
	if isCommand {
		if !strings.HasPrefix(command, "mod:") {
			return fmt.Errorf("no function command %q: %w", command, syscall.EINVAL)
		}
		module = strings.TrimPrefix(command, "mod:")
	}
	index, err := strconv.Atoi(pattern)
	byIndex := err == nil
	matched, line := false, 0
	for _, s := range k.All() {
		if !s.Traceable {
			continue
		}
		line++
		if byIndex && line != index || !byIndex && !globMatch(pattern, s.Name) || isCommand && s.Module != module {
			continue
		}
		matched = true
		if f.addrs == nil {
			f.addrs = map[uint64]bool{}
		}
		if out {
			delete(f.addrs, s.Addr)
		} else {
			f.addrs[s.Addr] = true
		}
	}
	if !matched {
		return fmt.Errorf("no function matches %q: %w", pattern, syscall.EINVAL)
	}
	return nil
}

// show lists the functions of the filter in address order, or says that there
// are none.
func (f *functionFilter) show(k *machine.Kallsyms, none string) string {
	if f.empty() {
		return none
	}
	var text strings.Builder
	for _, addr := range slices.Sorted(func(yield func(uint64) bool) {
		for addr := range f.addrs {
			if !yield(addr) {
				return
			}
		}
	}) {
		name, module, _, _, _ := k.Lookup(addr)
		text.WriteString(functionLine(name, module))
	}
	return text.String()
}

// showFunctions is the text of available_filter_functions.
func showFunctions(k *machine.Kallsyms) []byte {
	var text []byte
	for _, s := range k.All() {
		if s.Traceable {
			text = append(text, functionLine(s.Name, s.Module)...)
		}
	}
	return text
}

func functionLine(name, module string) string {
	if module != "" {
		return name + " [" + module + "]\n"
	}
	return name + "\n"
}

// globMatch matches the kernel's globs: * ? [a-z] [!a-z] and a backslash that
// takes the next character literally.
//
// Kernel: glob_match, lib/glob.c.
func globMatch(pattern, s string) bool {
	backP, backS := -1, 0
	p, n := 0, 0
	for n < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			backP, backS = p, n
			p++
			continue
		}
		if width, ok := matchOne(pattern[p:], s[n]); ok {
			p += width
			n++
			continue
		}
		if backP < 0 {
			return false
		}
		backS++
		p, n = backP+1, backS
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches c with the first element of pattern and returns its width.
func matchOne(pattern string, c byte) (width int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		if width, ok, isClass := matchClass(pattern, c); isClass {
			return width, ok
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// matchClass matches a bracket expression; a bracket without its end is an
// ordinary character.
func matchClass(pattern string, c byte) (width int, ok, isClass bool) {
	n, inverted := 1, false
	if n < len(pattern) && pattern[n] == '!' {
		inverted = true
		n++
	}
	for first := true; n < len(pattern); first = false {
		a := pattern[n]
		if a == ']' && !first {
			return n + 1, ok != inverted, true
		}
		b := a
		n++
		if n+1 < len(pattern) && pattern[n] == '-' && pattern[n+1] != ']' {
			b = pattern[n+1]
			n += 2
		}
		if a <= c && c <= b {
			ok = true
		}
	}
	return 0, false, false
}
