package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// stackIDs undoes a stack map: it turns the capture's stack_id records into the kernel
// stacks that a kernel without the map would have recorded.
//
// The map is read when the first id comes, because most captures of a patched kernel
// have a map beside them but no ids.
type stackIDs struct {
	b     *base
	place place  // the folder where the map is
	name  string // the file in that folder; empty: stack_map_bin or stack_map
	typ   *event.Type
	id    *event.Field

	read   bool
	err    error
	shown  string // the name of the file that was read; empty: there is none
	stacks map[uint32]mappedStack
	cuts   bool // the map may have cut deep stacks, see mapDepth
	made   int  // how many different frames have a made-up address

	replaced, unknown, cut uint64              // how many records were
	unknownIDs             map[uint32]struct{} // at most maxUnknownIDs
	firstUnknown           uint32
	seen                   map[uint32]uint32 // how many records each id has
}

// mappedStack is a stack of the map.
type mappedStack struct {
	ips []uint64
	ref uint32
}

// mapDepth is how many addresses of a stack a map can keep. Of a deeper stack, a map of
// revision v2 keeps that many; one of v4 refuses it.
//
// Kernel: FTRACE_STACKMAP_MAX_DEPTH, kernel/trace/trace_stackmap.c.
const mapDepth = 64

// maxMapped is the largest number of addresses that a stack of a map may have, the same
// as in [stackmap.Config]. A record of 16 bytes must not become an endless text.
const maxMapped = 1024

// maxUnknownIDs is how many different unknown ids are remembered.
const maxUnknownIDs = 1 << 16

// trampolineFrame and trampolineAddr stand for an address in an ftrace trampoline.
//
// Kernel: FTRACE_TRAMPOLINE_MARKER, kernel/trace/trace.h.
const (
	trampolineFrame = "[FTRACE TRAMPOLINE]"
	trampolineAddr  = 0x7fffffff
)

// setStackMap notes where Options.StackMap is; if fsys is nil, on the host.
func (l *location) setStackMap(fsys fs.FS, opt Options) error {
	switch {
	case opt.StackMap == "":
		return nil
	case fsys != nil:
		name := path.Clean(opt.StackMap)
		l.stackMap, l.stackMapName = place{&files{fsys, opt.Memory}, path.Dir(name), filepath.Dir(opt.StackMap)}, path.Base(name)
		return nil
	}
	abs, err := filepath.Abs(opt.StackMap)
	if err != nil {
		return fileError(opt.StackMap, "cannot open", err)
	}
	root, inRoot := splitRoot(abs)
	l.stackMap, l.stackMapName = place{opt.files(root), path.Dir(inRoot), filepath.Dir(opt.StackMap)}, path.Base(inRoot)
	return nil
}

// newStackIDs finds the map of a capture: the one that Options names, which has to
// exist, or else the one in the folder dir. It returns nil if Options.StackIDs leaves
// the ids as they are. b has to know the kernel's symbols before.
func newStackIDs(b *base, l location, dir string) (*stackIDs, error) {
	if b.opt.StackIDs {
		return nil, nil
	}
	s := &stackIDs{b: b, place: l.stackMap, name: l.stackMapName}
	if s.name != "" {
		return s, s.load()
	}
	if dir != "" {
		s.place = place{l.fsys, dir, l.shown}
	}
	return s, nil
}

// of reports whether a record is a stack_id, and gives the id.
func (s *stackIDs) of(t *event.Type, data []byte) (id uint32, ok bool) {
	if s == nil || t == nil {
		return 0, false
	}
	if t != s.typ {
		if t.Name != "stack_id" || t.System != "ftrace" {
			return 0, false
		}
		if s.id = t.Field("stack_id"); s.id == nil {
			return 0, false
		}
		s.typ = t
	}
	if s.id.Offset+s.id.Size > len(data) {
		return 0, false
	}
	return uint32(s.id.Uint(data)), true
}

// undo turns a stack_id record into the stack that it stands for, if the map has it.
// The record keeps its type and its data, which are what the kernel wrote.
func (s *stackIDs) undo(r *record.Record) error {
	id, ok := s.of(r.Type, r.Data)
	if !ok {
		return nil
	}
	ips, ok, err := s.stack(id)
	if ok {
		r.Kind, r.Stack = record.KernelStack, ips
	}
	return err
}

// stack gives the stack that an id stands for.
func (s *stackIDs) stack(id uint32) (ips []uint64, ok bool, err error) {
	if err := s.load(); err != nil {
		return nil, false, err
	}
	stack, ok := s.stacks[id]
	if !ok {
		if s.unknown == 0 {
			s.firstUnknown = id
		}
		if s.unknown++; len(s.unknownIDs) < maxUnknownIDs {
			s.unknownIDs[id] = struct{}{}
		}
		return nil, false, nil
	}
	s.replaced++
	s.seen[id]++
	if s.cuts && len(stack.ips) >= mapDepth {
		s.cut++
	}
	return stack.ips, true, nil
}

// load reads the map the first time it is called.
func (s *stackIDs) load() error {
	if s.read {
		return s.err
	}
	s.read = true
	s.stacks, s.seen, s.unknownIDs = map[uint32]mappedStack{}, map[uint32]uint32{}, map[uint32]struct{}{}
	names := []string{"stack_map_bin", "stack_map"}
	if s.name != "" {
		names = []string{s.name}
	}
	if s.place.fsys == nil {
		return nil
	}
	for _, name := range names {
		for _, suffix := range []string{"", ".gz", ".zst"} {
			full, shown := path.Join(s.place.dir, name+suffix), filepath.Join(s.place.shown, name+suffix)
			err := s.loadFile(full, shown)
			if s.name == "" && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if s.shown = shown; err == nil {
				return nil
			}
			if s.b.opt.KeepGoing && s.name == "" {
				s.b.info.skip(err, 0, 0, 0)
				return nil
			}
			s.err = err
			return err
		}
	}
	return nil
}

// loadFile reads one of the forms of a map.
func (s *stackIDs) loadFile(name, shown string) error {
	in, err := openStream(s.place.fsys, name, shown, true, s.b.opt.Memory)
	if err != nil {
		return err
	}
	head, err := in.Peek(4)
	switch {
	case err != nil && err != io.EOF:
	case stackmap.IsDump(head):
		err = s.readBinary(in)
	default:
		err = s.readText(in)
	}
	if err != nil {
		err = fileError(shown, "stack map", cause(err))
	}
	return errors.Join(err, in.Close())
}

func (s *stackIDs) readBinary(in io.Reader) error {
	d, err := stackmap.ReadDump(in, s.b.opt.Memory)
	if d == nil {
		return err
	}
	s.cuts = d.ABI.Magic != stackmap.ABIv4.Magic
	for _, r := range d.Records {
		if len(r.IPs) > maxMapped {
			return tooDeep(r.ID, len(r.IPs))
		}
		s.stacks[r.ID] = mappedStack{r.IPs, r.Ref}
	}
	return err
}

func tooDeep(id uint32, depth int) error {
	return fmt.Errorf("stack %d has %d addresses; no map keeps more than %d", id, depth, maxMapped)
}

// The memory that a stack takes besides its addresses, and a frame besides its text.
const (
	stackCost = 64
	frameCost = 96
)

// readText reads stack_map, the text. It has names instead of addresses; they are
// looked up together when all of them have been read.
func (s *stackIDs) readText(in io.Reader) error {
	s.cuts = true // the text does not tell the revision
	var frames []string
	index := map[string]uint64{}
	err := stackmap.ReadText(in, func(r stackmap.TextRecord) error {
		if len(r.Frames) > maxMapped {
			return tooDeep(r.ID, len(r.Frames))
		}
		if err := s.b.opt.Memory.Take(stackCost+8*int64(len(r.Frames)), "its stacks"); err != nil {
			return err
		}
		ips := make([]uint64, len(r.Frames)) // until then, indices of names
		for i, f := range r.Frames {
			n, ok := index[f]
			if !ok {
				if err := s.b.opt.Memory.Take(frameCost+int64(len(f)), "its frames"); err != nil {
					return err
				}
				n = uint64(len(frames))
				index[f] = n
				frames = append(frames, f)
			}
			ips[i] = n
		}
		s.stacks[r.ID] = mappedStack{ips, r.Ref}
		return nil
	})
	addrs := s.addresses(frames)
	for _, stack := range s.stacks {
		for i, n := range stack.ips {
			stack.ips[i] = addrs[n]
		}
	}
	return err
}

// addresses gives the address of each frame. A frame whose name no symbol of the kernel
// has, or several have, gets an address made from its text.
func (s *stackIDs) addresses(frames []string) []uint64 {
	addrs := make([]uint64, len(frames))
	named := map[string][]int{}
	for i, text := range frames {
		hex, isNumber := strings.CutPrefix(text, "0x")
		switch addr, ok := parseHex([]byte(hex)); {
		case text == trampolineFrame:
			addrs[i] = trampolineAddr
		case isNumber && ok:
			addrs[i] = addr
		default:
			name, _, _, _ := splitFrame(text)
			named[name] = append(named[name], i)
		}
	}
	found := make([]int, len(frames)) // how many symbols fit the frame
	if len(named) > 0 && s.b.kallsyms != nil {
		s.b.kallsyms.each(func(addr, size uint64, name, module string) {
			for _, i := range named[name] {
				if _, m, off, of := splitFrame(frames[i]); m == module && (of == size || of == 0) {
					addrs[i] = addr + off
					found[i]++
				}
			}
		})
	}
	for _, list := range named {
		for _, i := range list {
			if found[i] != 1 {
				text := []byte(frames[i])
				addrs[i] = pseudoAddress(text, true)
				s.b.frames.keep(addrs[i], true, text)
				s.made++
			}
		}
	}
	return addrs
}

// splitFrame divides "name+0xoff/0xsize [module]".
func splitFrame(text string) (name, module string, offset, size uint64) {
	name, module, _ = strings.Cut(text, " ")
	module = strings.Trim(module, "[] ")
	name, where, _ := strings.Cut(name, "+0x")
	off, of, _ := strings.Cut(where, "/0x")
	offset, _ = parseHex([]byte(off))
	size, _ = parseHex([]byte(of))
	return name, module, offset, size
}

// caveats tells what became of the ids.
func (s *stackIDs) caveats() []string {
	if s == nil || s.replaced+s.unknown == 0 {
		return nil
	}
	if s.shown == "" {
		return []string{fmt.Sprintf("this capture was made with a stackmap, and the map is not here: what its %d stack_id records stand for is not known. "+
			"They need stack_map_bin or stack_map, read from that kernel at the same time, in the folder or named beside the capture (--stack-map); "+
			"without it no design can be compared with another", s.unknown)}
	}
	out := []string{fmt.Sprintf("this capture was made with a stackmap: %d stack_id records were replaced by the stacks that they stand for in %s (%d stacks), "+
		"so full-stacks is what that kernel would have written without the map", s.replaced, s.shown, len(s.stacks))}
	return append(out, s.doubts()...)
}

// doubts tells where the map and the records do not fit together.
func (s *stackIDs) doubts() (out []string) {
	if s == nil || s.shown == "" {
		return nil
	}
	if s.unknown > 0 {
		out = append(out, fmt.Sprintf("%d of %d stack_id records have ids that are not in %s (%d ids, the first is %d): it was reset after them, or read before them. "+
			"They stay ids in every design, which makes the savings smaller than they are",
			s.unknown, s.unknown+s.replaced, s.shown, len(s.unknownIDs), s.firstUnknown))
	}
	stale := 0
	for id, n := range s.seen {
		if n > s.stacks[id].ref {
			stale++
		}
	}
	if stale > 0 {
		out = append(out, fmt.Sprintf("%d ids are in more records than %s has counted for them: it was reset after them, or read before them, and they may stand for other stacks",
			stale, s.shown))
	}
	if s.made > 0 && s.replaced > 0 {
		out = append(out, fmt.Sprintf("%d frames of %s have names that the kernel's symbols do not tell apart or do not have: their addresses are made up",
			s.made, s.shown))
	}
	if s.cut > 0 {
		out = append(out, fmt.Sprintf("%d stacks have %d addresses, as many as a map keeps: where it is one of revision v2 they may have been deeper, and full-stacks larger",
			s.cut, mapDepth))
	}
	return out
}
