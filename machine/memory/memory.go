package memory

import (
	"ftracelab/machine"
	"ftracelab/machine/btf"
)

// Memory is the memory of a machine. It is not safe for concurrent use; the goroutine
// that steps the machine reads it.
type Memory struct {
	m       *machine.Machine
	types   *btf.Model
	names   Names
	kinds   [numKinds]layout
	objects [numKinds]pool
	empty   map[string][]field   // the fields of structures without a kind of their own
	general map[uint64]string    // the names of general slab caches, by size
	funcs   map[uint64]*function // of syms
	syms    *machine.Kallsyms
	at      At
	ips     []uint64
	uses    []int
}

// Names is a workload that knows which files the tasks use.
type Names interface {
	// PathOf gives the path to which the argument arg of t's system call points.
	PathOf(t *machine.Task, arg int) string
	// FileOf gives the path of the file that t has open as fd.
	FileOf(t *machine.Task, fd int64) string
}

// New returns the memory of m. Call it after m has booted, because the names of files
// are not known before.
func New(m *machine.Machine) (*Memory, error) {
	types, err := btf.Load()
	if err != nil {
		return nil, err
	}
	mem := &Memory{m: m, types: types, empty: map[string][]field{}, general: map[uint64]string{}, funcs: map[uint64]*function{}}
	mem.names, _ = m.Workload().(Names)
	mem.at.mem = mem
	mem.layOut()
	return mem, nil
}

// Where things lie; see the documentation of the package.
const (
	userEnd     = 1<<47 - pageSize // TASK_SIZE_MAX
	pageSize    = 4096
	directMap   = 0xffff888000000000
	directEnd   = 0xffff888200000000
	objectBase  = 0xffff888140000000
	kindSize    = 1 << 24 // how many bytes of addresses each kind of object has
	stacks      = 0xffffc90000000000
	stacksEnd   = stacks + 1<<38
	pageStructs = 0xffffea0000000000
	pagesEnd    = pageStructs + (directEnd-directMap)/pageSize*64
	text        = 0xffffffff81000000
	textEnd     = 0xffffffff82000000
	dataEnd     = 0xffffffff83600000
	modules     = 0xffffffffc0000000
	modulesEnd  = 0xffffffffff000000
)

// Kernel copies kernel memory at addr to dst, as far as it can be read, and returns how
// many bytes that was.
//
// Kernel: copy_from_kernel_nofault, mm/maccess.c; an address in user space is a fault.
func (mem *Memory) Kernel(c *machine.CPU, dst []byte, addr uint64) int {
	return pieces(dst, addr, func(dst []byte, addr uint64) int { return mem.kernelPiece(c, dst, addr) })
}

// pieces copies piece after piece, until one cannot be read.
func pieces(dst []byte, addr uint64, read func([]byte, uint64) int) (n int) {
	for n < len(dst) {
		got := read(dst[n:], addr+uint64(n))
		if got == 0 {
			break
		}
		n += got
	}
	return n
}

// kernelPiece reads from the thing at addr, up to its end.
func (mem *Memory) kernelPiece(c *machine.CPU, dst []byte, addr uint64) int {
	switch {
	case addr >= objectBase && addr < objectBase+uint64(numKinds)*kindSize:
		return mem.readObject(dst, addr)
	case addr >= directMap && addr < directEnd:
		return zero(dst, directEnd-addr)
	case addr >= stacks && addr < stacksEnd:
		return mem.readStack(c, dst, addr)
	case addr >= pageStructs && addr < pagesEnd:
		return zero(dst, pagesEnd-addr)
	case addr >= text && addr < textEnd, addr >= modules && addr < modulesEnd:
		return mem.readText(dst, addr)
	case addr >= textEnd && addr < dataEnd:
		return mem.readData(c, dst, addr)
	}
	return 0
}

// zero sets up to limit bytes of dst to 0 and returns how many.
func zero(dst []byte, limit uint64) int {
	n := int(min(uint64(len(dst)), limit))
	clear(dst[:n])
	return n
}

// readText reads machine code. Only the instructions at the beginning of a function are
// known; all others are int3.
func (mem *Memory) readText(dst []byte, addr uint64) int {
	s, ok := mem.m.Kallsyms().At(addr)
	if !ok {
		return 0
	}
	n := int(min(uint64(len(dst)), s.Addr+s.Size-addr))
	for i := range dst[:n] {
		dst[i] = code(&s, addr+uint64(i))
	}
	return n
}

// code gives the byte of s at addr.
func code(s *machine.Symbol, addr uint64) byte {
	const (
		endbr64 = "\xf3\x0f\x1e\xfa"
		nop5    = "\x0f\x1f\x44\x00\x00" // the place into which the call is patched
		int3    = 0xcc
	)
	off := addr - s.Addr
	if s.Endbr && off < uint64(len(endbr64)) {
		return endbr64[off]
	}
	if off = addr - s.IP(); s.Traceable && off < uint64(len(nop5)) {
		return nop5[off]
	}
	return int3
}

// readData reads the kernel's data. What is not known of its symbols is 0.
func (mem *Memory) readData(c *machine.CPU, dst []byte, addr uint64) int {
	s, ok := mem.m.Kallsyms().At(addr)
	if !ok {
		return zero(dst, 8-addr&7) // up to the next word, where a symbol can begin
	}
	dst = dst[:min(uint64(len(dst)), s.Addr+s.Size-addr)]
	off := addr - s.Addr
	switch s.Name {
	case "linux_proc_banner":
		copyText(dst, machine.Banner, off)
	case "jiffies":
		copyWord(dst, c.Jiffies(), off)
	case "init_task":
		mem.readFields(mem.task(mem.m.CPUs()[0].Idle()), dst, off)
	default:
		clear(dst)
	}
	return len(dst)
}

// copyText copies text and the zeros after it, from offset off on, to dst.
func copyText(dst []byte, text string, off uint64) {
	n := 0
	if off < uint64(len(text)) {
		n = copy(dst, text[off:])
	}
	clear(dst[n:])
}

// copyWord copies the bytes of a little-endian word, from offset off on, to dst.
func copyWord(dst []byte, word, off uint64) {
	for i := range dst {
		dst[i] = 0
		if off < 8 {
			dst[i] = byte(word >> (8 * off))
		}
		off++
	}
}
