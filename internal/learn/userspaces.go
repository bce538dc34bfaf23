package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ftracelab/workload"
)

// userSpace is an address space of a capture, from an exec on.
type userSpace struct {
	comm  string
	calls []*userCall
	// moved has, for each word on its stacks, by how much the same word of the twin
	// differs, and how often. It is nil without a twin.
	moved map[uint64]map[uint64]int
	parts []userPart
	image int32 // index into Users.Images
	key   map[string]int
	gaps  [][]uint64 // the times before the calls of each place
}

// userPart is a part of an address space that has moved as a whole.
type userPart struct {
	base   workload.UserBase
	anchor uint64 // what is at the base
	words  []uint64
	code   []uint64 // those of the words that are on stacks
	leaf   bool     // there is code in it that enters the kernel
}

// enter notes the calls of a task, and those of its children, with their spaces.
func (l *userLearner) enter(r *userRun, in *userSpace) {
	exec := r.exec()
	for i := range r.calls {
		c := &r.calls[i]
		if exec >= 0 && i == exec+1 {
			in = &userSpace{comm: r.comm, key: map[string]int{}}
			if r.twin != nil {
				in.moved = map[uint64]map[uint64]int{}
			}
			l.spaces = append(l.spaces, in)
		}
		c.space = in
		in.calls = append(in.calls, c)
		if in.moved != nil && r.twin != nil && i < len(r.twin.calls) {
			in.compare(c, &r.twin.calls[i])
		}
		if n := slices.Index(r.clones, i); n >= 0 && n < len(r.children) {
			l.enter(r.children[n], in)
		}
	}
}

// compare notes how the words of two calls from the same place differ.
func (s *userSpace) compare(a, b *userCall) {
	if a.nr != b.nr || len(a.stack) != len(b.stack) || a.stack[0]&0xfff != b.stack[0]&0xfff {
		return
	}
	note := func(w, twin uint64) {
		if s.moved[w] == nil {
			s.moved[w] = map[uint64]int{}
		}
		s.moved[w][twin-w]++
	}
	for i, w := range a.stack {
		note(w, b.stack[i])
	}
	for i, w := range a.args {
		if isPointer(w) && isPointer(b.args[i]) {
			note(w, b.args[i])
		}
	}
}

// isPointer reports whether a word can be an address that is chosen by chance.
func isPointer(w uint64) bool { return w >= textFrom && w < mapTo }

// The parts of the address space of x86-64 in which position-independent programs, and
// libraries and stacks lie.
const (
	textFrom, textTo = 0x550000000000, 0x570000000000
	mapFrom, mapTo   = 0x7e0000000000, 0x800000000000
)

// partition finds the parts of the space.
func (s *userSpace) partition() {
	leaves, onStack, words := map[uint64]bool{}, map[uint64]bool{}, []uint64{}
	for _, c := range s.calls {
		leaves[c.stack[0]] = true
		for _, w := range c.stack {
			onStack[w] = true
		}
		words = append(words, c.stack...)
		for _, w := range c.args {
			if isPointer(w) {
				words = append(words, w)
			}
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	byMove := map[uint64]*userPart{}
	var order []*userPart
	for _, w := range words {
		move, ok := s.move(w, words)
		if !ok || move == 0 {
			continue
		}
		p := byMove[move]
		if p == nil {
			p = &userPart{base: workload.ChanceBase, anchor: move}
			byMove[move], order = p, append(order, p)
		}
		p.words, p.leaf = append(p.words, w), p.leaf || leaves[w]
		if onStack[w] {
			p.code = append(p.code, w)
		}
	}
	for _, p := range order {
		move := p.anchor
		first, last := p.words[0], p.words[len(p.words)-1]
		p.anchor = first &^ 0xfff
		switch {
		case first >= textFrom && last < textTo:
			p.base = workload.TextBase
			if slices.ContainsFunc(s.parts, func(q userPart) bool { return q.base == workload.TextBase }) {
				p.base = workload.HeapBase
			}
		case first >= mapFrom && last < mapTo && p.leaf:
			p.base = workload.MapBase
		case first >= mapFrom && last < mapTo && move&0xfff == 0 && move<<32 != 0:
			p.base, p.anchor = workload.StackBase, (last|0xfff)+1
		case first >= mapFrom && last < mapTo && move&0xf == 0 && move<<32 != 0:
			p.base, p.anchor = workload.FrameBase, (last|0xf)+1
		default:
			p.anchor = first
		}
		s.parts = append(s.parts, *p)
	}
}

// far is how far apart the words of one part are at most, if nothing else is known.
const far = 1 << 28

// move is what stands for the part of a word: by how much it has moved. If that is not
// known, it has moved with the words near it. Without a twin, words near each other are
// a part.
func (s *userSpace) move(w uint64, words []uint64) (uint64, bool) {
	best, most := uint64(0), 0
	for d, n := range s.moved[w] {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	if most > 0 {
		return best, true
	}
	if !isPointer(w) {
		return 0, false
	}
	at, _ := slices.BinarySearch(words, w)
	for at > 0 && words[at]-words[at-1] < far {
		at--
	}
	for ; at < len(words) && s.moved != nil; at++ {
		if words[at] > w+far {
			break
		}
		if len(s.moved[words[at]]) > 0 {
			return s.move(words[at], words)
		}
	}
	return words[min(at, len(words)-1)] &^ 0xfff, true
}

// where gives the part of a word and its offset there. Words in no part are constant.
func (s *userSpace) where(w uint64) (base byte, off int64) {
	for i := range s.parts {
		if _, ok := slices.BinarySearch(s.parts[i].words, w); ok {
			return byte(i + 1), int64(w - s.parts[i].anchor)
		}
	}
	return 0, int64(w)
}

// library is the code of a file that captures name, with the offsets in it that they name.
type library struct {
	path    string
	size    uint64
	offsets []uint64
}

var (
	inFile   = regexp.MustCompile(`=> (/\S+)\[\+0x([0-9a-f]+)\]`)
	codeLine = regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) r-xp .* (/\S+)$`)
)

// readLibraries collects what the texts of captures say of files that tasks have mapped.
func readLibraries(dirs []string) (map[string]*library, error) {
	libs := map[string]*library{}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			base := filepath.Base(name)
			maps := strings.HasPrefix(base, "maps.")
			if !maps && base != "trace.head.txt.gz" && base != "trace.txt.gz" {
				continue
			}
			b, err := oracle(dir).bytes(base)
			if err != nil {
				return nil, err
			}
			lib := func(path []byte) *library {
				short := shortName(string(path))
				if libs[short] == nil {
					libs[short] = &library{path: string(path)}
				}
				return libs[short]
			}
			if maps {
				for _, m := range codeLine.FindAllSubmatch(b, -1) {
					lib(m[3]).size = hex(m[2]) - hex(m[1])
				}
				continue
			}
			for line := range bytes.Lines(b) {
				if m := inFile.FindSubmatch(line); m != nil {
					l := lib(m[1])
					if off := hex(m[2]); !slices.Contains(l.offsets, off) {
						l.offsets = append(l.offsets, off)
					}
				}
			}
		}
	}
	return libs, nil
}

func hex(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		panic(fmt.Sprintf("learn: invariant: %q is no address", b))
	}
	return n
}

// find looks for the library among the words of a part: most of its offsets that are
// there agree on where it begins.
func (l *library) find(words []uint64) (base uint64, votes int) {
	count := map[uint64]int{}
	for _, w := range words {
		for _, off := range l.offsets {
			if b := w - off; b&0xfff == 0 {
				count[b]++
			}
		}
	}
	for b, n := range count {
		if n > votes || n == votes && b < base {
			base, votes = b, n
		}
	}
	return base, votes
}

// maps gives the mappings of the files of a space: of the program, the C library and the
// dynamic linker. It moves the anchor of the libraries to the C library, and that of the
// program to where its code begins, if that is known.
func (s *userSpace) maps(libs map[string]*library) (list []workload.UserMap) {
	path := "/usr/bin/" + s.comm
	add := func(part int, start uint64, size uint64, path string) {
		at := int64(start - s.parts[part].anchor)
		list = append(list, workload.UserMap{Base: byte(part + 1), Start: at, End: at + int64(size), Path: path})
	}
	for i := range s.parts {
		p := &s.parts[i]
		extent := (p.words[len(p.words)-1] | 0xfff) + 1 - p.words[0]&^0xfff
		switch {
		case p.base == workload.TextBase:
			if l := libs[s.comm]; l != nil && l.size > 0 {
				if base, votes := l.find(p.code); votes > 0 {
					p.anchor = base
					add(i, base, l.size, path)
					continue
				}
			}
			add(i, p.anchor, extent, path)
		case p.base == workload.HeapBase:
			add(i, p.anchor, extent, "[heap]")
		case p.base == workload.MapBase:
			for n, name := range []string{"libc.so.6", "ld-linux-x86-64.so.2"} {
				l := libs[name]
				if l == nil {
					continue
				}
				base, votes := l.find(p.code)
				if votes < 3 {
					continue
				}
				if n == 0 {
					p.anchor = base
				}
				add(i, base, l.size, "/lib/x86_64-linux-gnu/"+name)
			}
		}
	}
	if !slices.ContainsFunc(list, func(m workload.UserMap) bool { return m.Path == path }) {
		list = append(list, s.fixed(path)...)
	}
	slices.SortStableFunc(list, func(a, b workload.UserMap) int { return cmp.Compare(a.Base, b.Base) })
	return list
}

// fixed gives the mapping of a program that is always at the same address.
func (s *userSpace) fixed(path string) []workload.UserMap {
	const from, to = 0x400000, 0x1000000
	last := int64(0)
	for _, c := range s.calls {
		if w := c.stack[0]; w >= from && w < to {
			last = max(last, int64(w))
		}
	}
	if last == 0 {
		return nil
	}
	return []workload.UserMap{{Start: from + 0x1000, End: (last | 0xfff) + 1, Offset: 0x1000, Path: path}}
}
