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
}

// Bounds of the cache of parsed stacks: when one is reached it starts anew.
const (
	maxCachedStacks = 1 << 14
	maxCachedFrames = 1 << 20
	frameChunk      = 1 << 15
)

// perfStacks parses the text of stacks. Most stacks of a capture occur again, so it
// remembers what a text came to under the text's 64-bit hash. It trusts the hash: of
// the at most 16,384 texts remembered at a time one is taken for another once in
// 10^15 look-ups, and keeping the texts to compare would cost more memory than all
// the rest.
type perfStacks struct {
	frames *frames
	cache  map[uint64]perfStack
	cached int      // frames in the cache
	chunk  []uint64 // where frames go; stacks given out keep their chunk alive

	user       []uint64 // scratch
	dso        []byte   // last, with its mark
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

// parse reads the lines of a stack. In an error, line counts from 0.
func (p *perfStacks) parse(text []byte) (s perfStack, line int, err error) {
	key := xxhash.Sum64(text)
	if s, ok := p.cache[key]; ok {
		return s, 0, nil
	}
	if cap(p.chunk)-len(p.chunk) < 2*maxFrames {
		p.chunk = make([]uint64, 0, frameChunk)
	}
	start := len(p.chunk)
	p.user = p.user[:0]
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

// frame adds a frame, kernel frames to chunk and others to user:
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
	if !numbered && len(symbol) == 0 {
		return false, false
	}
	p.add(addr, numbered, symbol)
	return false, true
}

// place cuts the (DSO) off the end of a frame and looks at it.
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

// The dsos in brackets that are not of the kernel.
var userBrackets = [][]byte{
	[]byte("[vdso"), []byte("[vsyscall"), []byte("[heap"), []byte("[stack"), []byte("[anon"), []byte("[uprobes"), []byte("[unknown"),
}

// setDSO tells a dso of the kernel, [kernel.kallsyms] or [module], from the others.
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

// An address below 2^40 is no place in the address space but in its dso, as perf
// script prints it for what is mapped: the dso's hash above it keeps the same
// number in two dsos apart.
const (
	mappedShift = 40
	mappedBits  = 22
	mappedMark  = 1 << 62
)

func (p *perfStacks) add(addr uint64, numbered bool, symbol []byte) {
	kernel := p.dsoKernel
	if numbered && p.dsoUnknown {
		// Behind user frames an address that only looks like the kernel's is rubbish
		// from an unwinder without frame pointers.
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
