package memory

import (
	"strconv"
	"strings"

	"ftracelab/machine"
)

// callTable lists the parameters of x86-64's system calls: the number, then the names
// of the parameters, with a star before the address of a path.
//
// Kernel: the SYSCALL_DEFINE of each, fs/*.c.
const callTable = `
0 fd buf count
1 fd buf count
2 *filename flags mode
3 fd
4 *filename statbuf
5 fd statbuf
6 *filename statbuf
8 fd offset whence
16 fd cmd arg
17 fd buf count pos
18 fd buf count pos
21 *filename mode
32 fildes
33 oldfd newfd
59 *filename argv envp
72 fd cmd arg
74 fd
77 fd length
80 *filename
81 fd
82 *oldname *newname
83 *pathname mode
84 *pathname
85 *pathname mode
86 *oldname *newname
87 *pathname
88 *oldname *newname
89 *path buf bufsiz
90 *filename mode
91 fd mode
137 *pathname buf
138 fd buf
217 fd dirent count
221 fd offset len advice
257 dfd *filename flags mode
258 dfd *pathname mode
262 dfd *filename statbuf flag
263 dfd *pathname flag
264 olddfd *oldname newdfd *newname
266 *oldname newdfd *newname
267 dfd *pathname buf bufsiz
269 dfd *filename mode
280 dfd *filename utimes flags
332 dfd *filename flags mask buffer
437 dfd *filename how usize
439 dfd *filename mode flags
`

// call is the parameters of a system call.
type call struct {
	names []string
	paths []bool // which of them are addresses of paths
}

var calls, callNames = parseCalls()

// parseCalls reads callTable. It leaves out the names that other functions use for
// something else.
func parseCalls() (map[int64]call, map[string]bool) {
	calls, names := map[int64]call{}, map[string]bool{}
	for line := range strings.Lines(callTable) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var d call
		for _, w := range words[1:] {
			name, isPath := strings.CutPrefix(w, "*")
			d.names, d.paths = append(d.names, name), append(d.paths, isPath)
			names[name] = true
		}
		if nr, err := strconv.ParseInt(words[0], 10, 64); err == nil {
			calls[nr] = d
		}
	}
	for _, common := range []string{"flags", "mode", "offset", "len", "pos", "mask", "path", "arg", "cmd", "length", "flag", "buffer"} {
		delete(names, common)
	}
	return calls, names
}

// callArg gives the argument with that name of a stay's system call.
func callArg(stay *machine.Stay, name string) (uint64, bool) {
	if stay.Kind != machine.Syscall {
		return 0, false
	}
	d := calls[stay.NR]
	for i, n := range d.names {
		if n == name || d.paths[i] && isPath(n) && isPath(name) {
			return stay.Args[i], true
		}
	}
	return 0, false
}

// isPath reports whether the name of a parameter stands for a path.
func isPath(name string) bool { return name == "filename" || name == "pathname" }

// usedFD gives the descriptor that a stay's system call uses or will return; -1 if
// there is none.
func usedFD(stay *machine.Stay) int64 {
	if fd, ok := callArg(stay, "fd"); ok {
		return int64(int32(fd))
	}
	if _, ok := callArg(stay, "filename"); ok && stay.Ret >= 0 {
		return stay.Ret
	}
	return -1
}

// usedPath gives the path that t's system call is about: the one that it names, or that
// of the file that it uses.
func (mem *Memory) usedPath(t *machine.Task) string {
	stay := t.Stay()
	if mem.names == nil || stay.Kind != machine.Syscall || t.Kernel {
		return "/"
	}
	d := calls[stay.NR]
	for i := range d.paths {
		if d.paths[i] {
			return mem.names.PathOf(t, i)
		}
	}
	if fd := usedFD(stay); fd >= 0 {
		return mem.names.FileOf(t, fd)
	}
	return "/"
}

// User copies memory of the current task at addr to dst, as far as it can be read, and
// returns how many bytes that was.
//
// Departure: the memory of a task consists of its stack, its mappings, and the pages to
// which the arguments of its system call point. Everything in it is 0, except for paths
// and return addresses.
//
// Kernel: copy_from_user_nofault, mm/maccess.c.
func (mem *Memory) User(c *machine.CPU, dst []byte, addr uint64) int {
	if c.Current.Kernel {
		return 0
	}
	return pieces(dst, addr, func(dst []byte, addr uint64) int { return mem.userPiece(c.Current, dst, addr) })
}

func (mem *Memory) userPiece(t *machine.Task, dst []byte, addr uint64) int {
	if addr >= userEnd {
		return 0
	}
	stay := t.Stay()
	inPage := false
	if stay.Kind == machine.Syscall {
		d := calls[stay.NR]
		for i := range d.paths {
			at := stay.Args[i]
			if d.paths[i] && mem.names != nil && addr >= at {
				if path := mem.names.PathOf(t, i); addr-at <= uint64(len(path)) {
					dst = dst[:min(len(dst), len(path)+1-int(addr-at))]
					copyText(dst, path, addr-at)
					return len(dst)
				}
			}
			inPage = inPage || at >= pageSize && addr/pageSize == at/pageSize
		}
	}
	if t.Memory != nil {
		if word, ok := t.Memory.Load(addr &^ 7); ok {
			dst = dst[:min(len(dst), 8-int(addr&7))]
			copyWord(dst, word, addr&7)
			return len(dst)
		}
	}
	for i := range t.Maps {
		inPage = inPage || addr >= t.Maps[i].Start && addr < t.Maps[i].End
	}
	if !inPage {
		return 0
	}
	// Up to the next word, so that a path that begins there is seen.
	return zero(dst, 8-addr&7)
}
