package memory

import (
	"cmp"
	"slices"
	"strings"

	"ftracelab/machine/btf"
)

// layout says how the objects of a kind lie in memory.
type layout struct {
	structure string
	stride    uint64 // bytes from one object to the next
	fields    []field
}

// field is a member about which something is known: a number or a text.
type field struct {
	off, size uint64
	word      func(mem *Memory, o *object) uint64
	text      func(mem *Memory, o *object) string
}

// member declares a field by the names that lead to it.
type member struct {
	path string
	word func(mem *Memory, o *object) uint64
	text func(mem *Memory, o *object) string
}

// layOut finds out where the members of all kinds of objects lie.
func (mem *Memory) layOut() {
	for kind, d := range declarations {
		l := &mem.kinds[kind]
		l.structure = d.structure
		l.stride = max(d.stride, uint64(mem.types.Size(d.structure)+63)&^63)
		if d.structure != "" {
			l.fields = mem.lists(d.structure)
		}
		for _, m := range d.members {
			f := field{off: d.textAt, size: l.stride - d.textAt, word: m.word, text: m.text}
			if m.path != "" {
				place, ok := mem.types.Field(d.structure, m.path)
				if !ok {
					panic("memory: invariant: no member " + d.structure + "." + m.path)
				}
				f.off, f.size = uint64(place.Bit/8), uint64(mem.types.Type(place.Type).Size)
			}
			l.fields = append(l.fields, f)
		}
		slices.SortStableFunc(l.fields, func(a, b field) int { return cmp.Compare(a.off, b.off) })
	}
}

// lists gives the heads of lists in a structure. Both pointers in the head of an empty
// list point to the head itself.
func (mem *Memory) lists(structure string) (fields []field) {
	head, _ := mem.types.Named("struct list_head")
	var within func(id btf.ID, off uint64)
	within = func(id btf.ID, off uint64) {
		for _, m := range mem.types.Type(id).Members {
			at := off + uint64(m.Bit/8)
			if m.Type != head {
				within(m.Type, at)
				continue
			}
			self := func(_ *Memory, o *object) uint64 { return o.addr + at }
			fields = append(fields, field{off: at, size: 8, word: self}, field{off: at + 8, size: 8, word: self})
		}
	}
	if id, ok := mem.types.Named("struct " + structure); ok {
		within(id, 0)
	}
	return fields
}

// readFields copies the bytes of o from off on to dst.
func (mem *Memory) readFields(o *object, dst []byte, off uint64) {
	clear(dst)
	l := &mem.kinds[o.kind]
	fields := l.fields
	if o.kind == kindOpaque {
		fields = mem.opaqueFields(o.text)
	}
	for i := range fields {
		f := &fields[i]
		from, to := max(f.off, off), min(f.off+f.size, off+uint64(len(dst)))
		if from >= to {
			continue
		}
		part := dst[from-off : to-off]
		if f.text != nil {
			copyText(part, f.text(mem, o), from-f.off)
		} else {
			copyWord(part, f.word(mem, o), from-f.off)
		}
	}
}

// opaqueFields gives the fields of a structure without a kind of its own.
func (mem *Memory) opaqueFields(structure string) []field {
	fields, ok := mem.empty[structure]
	if !ok {
		fields = mem.lists(structure)
		mem.empty[structure] = fields
	}
	return fields
}

// base gives the last part of a path, which is the name in a dentry.
func base(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 && len(path) > 1 {
		return path[i+1:]
	}
	return path
}

// dir gives the path without its last part.
func dir(path string) string {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i > 0:
		return path[:i]
	case i == 0:
		return "/"
	}
	return "."
}
