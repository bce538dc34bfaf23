package capture

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// perfStack is a parsed call chain, innermost first.
type perfStack struct {
	kernel, user []uint64
	inlined      int
	cookie       uint64 // stands for a user stack that has a block of its own; 0: there is none
}

// Limits of the cache of parsed stacks. When one of them is reached, the cache is
// emptied.
const (
	maxCachedStacks = 1 << 14
	maxCachedFrames = 1 << 20
	frameChunk      = 1 << 15
)

// perfStacks parses the text of stacks. Most stacks of a capture occur again, so it
// remembers parsed stacks under the 64-bit hash of their text. It trusts the hash: with
// at most 16,384 texts remembered at a time, one in 10^15 look-ups takes a text for
// another. Keeping the texts in order to compare them would take more memory than
// everything else.
type perfStacks struct {
	frames *frames
	cache  map[uint64]perfStack
	cached int      // how many frames the cache holds
	chunk  []uint64 // the memory for frames; the stacks given out keep their chunk alive

	user       []uint64 // scratch
	cookie     uint64   // scratch
	dso        []byte   // the one of the last frame, with its mark
	dsoMark    uint64
	dsoKernel  bool
	dsoUnknown bool
}

func newPerfStacks(f *frames) *perfStacks {
	return &perfStacks{frames: f, cache: make(map[uint64]perfStack, maxCachedStacks)}
}

var (
	errNoFrame    = errors.New("not a frame of a stack: no ADDRESS SYMBOL (DSO)")
	errDeepStack  = fmt.Errorf("a stack of more than %d frames", maxFrames)
	suffixInlined = []byte("(inlined)")
)

// cookieFrame is the symbol of a line that is no frame but the cookie of the user stack.
//
// Kernel: sample__fprintf_callchain, tools/perf/util/evsel_fprintf.c of 6.19.
const cookieFrame = "(cookie)"

// parse reads the lines of a stack. If it fails, line is the number of the bad line,
// from 0.
func (p *perfStacks) parse(text []byte) (s perfStack, line int, err error) {
	key := xxhash.Sum64(text)
	if s, ok := p.cache[key]; ok {
		return s, 0, nil
	}
	if cap(p.chunk)-len(p.chunk) < 2*maxFrames {
		p.chunk = make([]uint64, 0, frameChunk)
	}
	start := len(p.chunk)
	p.user, p.cookie = p.user[:0], 0
	for len(text) > 0 {
		one := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			one, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(p.chunk)-start+len(p.user) >= maxFrames {
			return s, line, errDeepStack
		}
		inlined, ok := p.frame(one)
		if !ok {
			p.chunk = p.chunk[:start]
			return s, line, errNoFrame
		}
		if inlined {
			s.inlined++
		}
		line++
	}
	s.cookie = p.cookie
	middle := len(p.chunk)
	p.chunk = append(p.chunk, p.user...)
	s.kernel = p.chunk[start:middle:middle]
	s.user = p.chunk[middle:len(p.chunk):len(p.chunk)]
	if p.cached += len(s.kernel) + len(s.user); len(p.cache) >= maxCachedStacks || p.cached > maxCachedFrames {
		clear(p.cache)
		p.cached = 0
	}
	p.cache[key] = s
	return s, line, nil
}

// frame adds a frame: a kernel frame to chunk, any other to user.
//
//	ffffffff817d8d3d ext4_search_dir+0xcd ([kernel.kallsyms])
//	           24a79 runtime.mallocgc+0x179 (/usr/local/go/bin/go)
func (p *perfStacks) frame(line []byte) (inlined, ok bool) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == 0 || i == len(line) {
		return false, false
	}
	if line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	line = line[i:]
	if bytes.HasSuffix(line, suffixInlined) {
		return true, true
	}
	addr, numbered := uint64(0), false
	n := 0
	for ; n < len(line) && n < 17; n++ {
		d := hexDigit[line[n]]
		if d > 15 {
			break
		}
		addr = addr<<4 | uint64(d)
	}
	symbol := line
	if n > 0 && n < 17 && (n == len(line) || line[n] == ' ') {
		numbered = true
		symbol = line[min(n+1, len(line)):]
	}
	symbol = p.place(symbol)
	if numbered && string(symbol) == cookieFrame {
		p.cookie = addr
		return false, true
	}
	if !numbered && len(symbol) == 0 {
		return false, false
	}
	p.add(addr, numbered, symbol)
	return false, true
}

// place cuts the (DSO) off the end of a frame and notes it.
func (p *perfStacks) place(b []byte) (symbol []byte) {
	n := len(b)
	if n == 0 || b[n-1] != ')' {
		p.setDSO(nil)
		return b
	}
	i := n - 2
	for i >= 0 && b[i] != '(' {
		i--
	}
	if i > 0 && string(b[i:]) == "(deleted))" {
		for i--; i >= 0 && b[i] != '('; i-- {
		}
	}
	if i < 0 || i > 0 && b[i-1] != ' ' {
		p.setDSO(nil)
		return b
	}
	p.setDSO(b[i+1 : n-1])
	return b[:max(i-1, 0)]
}

// The DSOs in brackets that do not belong to the kernel.
var userBrackets = [][]byte{
	[]byte("[vdso"), []byte("[vsyscall"), []byte("[heap"), []byte("[stack"), []byte("[anon"), []byte("[uprobes"), []byte("[unknown"),
}

// setDSO finds out whether a DSO is the kernel's, [kernel.kallsyms] or [module], or
// another.
func (p *perfStacks) setDSO(dso []byte) {
	if bytes.Equal(dso, p.dso) && dso != nil {
		return
	}
	p.dso = append(p.dso[:0], dso...)
	p.dsoUnknown = len(dso) == 0 || string(dso) == "[unknown]"
	p.dsoKernel = len(dso) > 0 && dso[0] == '['
	for _, b := range userBrackets {
		p.dsoKernel = p.dsoKernel && !bytes.HasPrefix(dso, b)
	}
	p.dsoMark = mappedMark | xxhash.Sum64(dso)>>(64-mappedBits)<<mappedShift
}

// An address below 2^40 is an offset in its DSO, as perf script prints it for mapped
// files, not a place in the address space. A hash of the DSO is put above it, so that
// the same offset in two DSOs gives different addresses.
const (
	mappedShift = 40
	mappedBits  = 22
	mappedMark  = 1 << 62
)

func (p *perfStacks) add(addr uint64, numbered bool, symbol []byte) {
	kernel := p.dsoKernel
	if numbered && p.dsoUnknown {
		// After user frames, an address that looks like the kernel's is rubbish: the
		// unwinder had no frame pointers to go by.
		kernel = addr >= kernelStart && len(p.user) == 0
	} else if numbered && addr >= kernelStart && !bytes.HasPrefix(p.dso, []byte("[vsyscall")) {
		kernel = true
	}
	switch {
	case !numbered:
		addr = pseudoAddress(symbol, kernel)
	case !kernel && !p.dsoUnknown && addr < 1<<mappedShift:
		addr |= p.dsoMark
	}
	if len(symbol) > 0 && string(symbol) != "[unknown]" && !p.frames.full(kernel) {
		p.frames.keep(addr, kernel, symbol)
	}
	if kernel {
		p.chunk = append(p.chunk, addr)
	} else {
		p.user = append(p.user, addr)
	}
}
