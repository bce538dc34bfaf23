package capture

import (
	"bytes"
	"fmt"
	"strings"

	"ftracelab/tracer/event"
)

// maxMark is the length of the longest text that a marker's record can hold, in bytes.
const maxMark = 4096

// Sizes that are assumed where the text does not tell them.
const (
	guessedArray  = 16 // bytes of a dynamic array
	guessedPerTwo = 2  // characters of an unknown event's text for each byte of its record
)

// rebuilder makes binary records from the text of events. A record has the size of the
// kernel's as far as the format and the text tell it. The fields after the common
// header stay zero, except for a few that are easy to fill in.
type rebuilder struct {
	b         *base
	shapes    map[string]*shape
	catalogue bool // the formats are our own, because the kernel's are missing

	kernelStack, userStack uint16
	stackID, function      *event.Type
	print                  *event.Type
	name                   []byte // scratch

	unknown, unknownBytes, guessedArrays, noParent uint64
	unknownNames                                   []string
}

// shape is what must be known of a type to find the size of its records.
type shape struct {
	typ     *event.Type
	dynamic []dynamic
	unknown bool
}

// dynamic is a field whose data lies behind the fixed part of a record.
type dynamic struct {
	label  []byte // " name=", which is how most events print the field
	isText bool
}

func newRebuilder(b *base, catalogue bool) (*rebuilder, error) {
	r := &rebuilder{b: b, shapes: map[string]*shape{}, catalogue: catalogue}
	table := b.types.table
	ensure := func(name string, fields ...event.Field) (*event.Type, error) {
		if t := table.ByName("ftrace", name); t != nil {
			return t, nil
		}
		return b.types.synthetic("ftrace", name, fields...)
	}
	var err error
	if r.stackID, err = ensure("stack_id", event.Field{Name: "stack_id", Decl: "int stack_id", Offset: 8, Size: 4, Signed: true}); err != nil {
		return nil, err
	}
	if r.function, err = ensure("function", word64("ip", 8), word64("parent_ip", 16)); err != nil {
		return nil, err
	}
	if r.print, err = ensure("print", word64("ip", 8),
		event.Field{Name: "buf", Decl: "char buf[]", Offset: 16}); err != nil {
		return nil, err
	}
	for name, id := range map[string]*uint16{"kernel_stack": &r.kernelStack, "user_stack": &r.userStack} {
		if t := table.ByName("ftrace", name); t != nil {
			*id = uint16(t.ID)
		}
	}
	return r, nil
}

// event makes h the record of the text behind a line's context: "name: text", "callee
// <-caller", ….
func (r *rebuilder) event(h *textRecord, body []byte) error {
	if id, ok := bytes.CutPrefix(body, []byte("<stack_id ")); ok {
		v, ok := parseUint(bytes.TrimSuffix(id, []byte(">")))
		if !ok {
			return fmt.Errorf("no stack id in %s", excerpt(body))
		}
		r.record(h, r.stackID, event.CommonSize+4)
		for i := range 4 {
			h.data[event.CommonSize+i] = byte(v >> (8 * i))
		}
		return nil
	}
	if done, err := r.syscall(h, body); done || err != nil {
		return err
	}
	name, text, named := bytes.Cut(body, []byte(": "))
	if !named {
		name, named = bytes.CutSuffix(body, []byte(":"))
	}
	if !named || bytes.Contains(name, []byte(" <-")) {
		return r.call(h, body)
	}
	if string(name) == "tracing_mark_write" {
		r.mark(h, text)
		return nil
	}
	s, err := r.shape(name)
	if err != nil {
		return err
	}
	size := s.typ.Size
	switch {
	case s.unknown:
		size = min(event.CommonSize+(len(text)+guessedPerTwo-1)/guessedPerTwo, maxMark)
		r.unknown++
		r.unknownBytes += uint64(size)
	case len(s.dynamic) > 0:
		size = min(size+r.dynamicSize(s, text), maxMark)
	}
	r.record(h, s.typ, size)
	return nil
}

// extend makes the record longer whose text has n bytes more than its first line.
func (r *rebuilder) extend(h *textRecord, n int) {
	s := r.shapes[h.Type.Name]
	switch {
	case s == nil || s.typ != h.Type:
		return
	case s.unknown:
		n = (n + guessedPerTwo - 1) / guessedPerTwo
		r.unknownBytes += uint64(max(0, min(n, maxMark-len(h.data))))
	case len(s.dynamic) == 0:
		return
	}
	r.record(h, h.Type, max(len(h.data), min(len(h.data)+n, maxMark)))
}

// record makes h an empty record of a type.
func (r *rebuilder) record(h *textRecord, t *event.Type, size int) {
	if cap(h.data) < size {
		h.data = make([]byte, size, max(size, 256))
	}
	h.data = h.data[:size]
	clear(h.data)
	h.Common.Type = uint16(t.ID)
	h.Common.Put(h.data)
	h.Type, h.Data = t, h.data
}

// call makes a record of the function tracer. Without the option print-parent the text
// has no caller.
//
// Kernel: trace_fn_trace, kernel/trace/trace_output.c.
func (r *rebuilder) call(h *textRecord, body []byte) error {
	callee, caller, ok := bytes.Cut(body, []byte(" <-"))
	callee = bytes.TrimSpace(callee)
	if len(callee) == 0 {
		return fmt.Errorf("a record without a name: %s", excerpt(body))
	}
	if !ok {
		r.noParent++
	}
	r.record(h, r.function, max(r.function.Size, event.CommonSize+16))
	putWord(h.data[event.CommonSize:], r.symbol(callee))
	if ok && len(caller) > 0 {
		putWord(h.data[event.CommonSize+8:], r.symbol(caller))
	}
	return nil
}

// symbol is the address of a function's name.
func (r *rebuilder) symbol(text []byte) uint64 {
	addr := pseudoAddress(text, true)
	r.b.frames.keep(addr, true, text)
	return addr
}

// mark makes the record of a write to trace_marker, which is the text, a newline and a
// zero.
//
// Kernel: tracing_mark_write, kernel/trace/trace.c.
func (r *rebuilder) mark(h *textRecord, text []byte) {
	text = text[:min(len(text), maxMark)]
	fixed := event.CommonSize + 8
	r.record(h, r.print, fixed+len(text)+2)
	copy(h.data[fixed:], text)
	h.data[fixed+len(text)] = '\n'
	h.isMark, h.markLen = true, len(h.data)-1
}

// shape finds the type of an event by its name alone, because the text does not tell
// the system.
func (r *rebuilder) shape(name []byte) (*shape, error) {
	if s := r.shapes[string(name)]; s != nil {
		return s, nil
	}
	s := &shape{typ: r.b.types.byName[string(name)]}
	if s.typ == nil {
		t, err := r.b.types.synthetic("unknown", strings.ToValidUTF8(strings.ReplaceAll(string(name), "\n", " "), "?"))
		if err != nil {
			return nil, err
		}
		s.typ, s.unknown = t, true
		if len(r.unknownNames) < 5 {
			r.unknownNames = append(r.unknownNames, t.Name)
		}
	}
	for i := range s.typ.Fields {
		f := &s.typ.Fields[i]
		if strings.HasPrefix(f.Decl, "__data_loc ") || strings.HasPrefix(f.Decl, "__rel_loc ") {
			s.dynamic = append(s.dynamic, dynamic{label: []byte(f.Name + "="), isText: strings.Contains(f.Decl, "char")})
		}
	}
	r.shapes[string(name)] = s
	return s, nil
}

// dynamicSize gives the size of what lies behind the fixed part of a record: the
// strings that the text shows after NAME=, each with a zero at its end.
func (r *rebuilder) dynamicSize(s *shape, text []byte) int {
	total := 0
	for _, d := range s.dynamic {
		n, ok := valueLength(text, d.label)
		if !ok || !d.isText {
			r.guessedArrays++
			total += guessedArray
			continue
		}
		total += n + 1
	}
	return total
}

// valueLength gives the length of the value behind label. The value ends where the next
// NAME= begins.
func valueLength(text, label []byte) (int, bool) {
	i := bytes.Index(text, label)
	for i > 0 && text[i-1] != ' ' {
		j := bytes.Index(text[i+1:], label)
		if j < 0 {
			return 0, false
		}
		i += 1 + j
	}
	if i < 0 {
		return 0, false
	}
	value := text[i+len(label):]
	for at := 0; at < len(value); at++ {
		if value[at] != ' ' {
			continue
		}
		n := at + 1
		for n < len(value) && (value[n] == '_' || value[n] >= 'a' && value[n] <= 'z' || value[n] >= '0' && value[n] <= '9') {
			n++
		}
		if n > at+1 && n < len(value) && value[n] == '=' {
			return at, true
		}
	}
	return len(value), true
}

func (r *rebuilder) caveats() []string {
	var out []string
	if r.catalogue {
		out = append(out, "no formats of the kernel: record sizes are those of Linux 6.12 on a 64-bit machine")
	}
	if r.unknown > 0 {
		out = append(out, fmt.Sprintf("%d events without a format (%s …): their records are taken for half the length of their text, "+
			"%d bytes on average; a record has at least 8", r.unknown, strings.Join(r.unknownNames, ", "), r.unknownBytes/r.unknown))
	}
	if r.guessedArrays > 0 {
		out = append(out, fmt.Sprintf("%d dynamic arrays whose length the text does not tell: taken for %d bytes each", r.guessedArrays, guessedArray))
	}
	if r.noParent > 0 {
		out = append(out, fmt.Sprintf("%d function records without their caller (noprint-parent)", r.noParent))
	}
	return out
}

// caveats tells which addresses of frames are made up.
func (f *frames) caveats(coarse string) []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var out []string
	made, bare := 0, 0
	for _, table := range []map[uint64]string{f.kernel, f.user} {
		for addr, text := range table {
			if addr&^(1<<pseudoBits-1) == pseudoKernel || addr&^(1<<pseudoBits-1) == pseudoUser {
				made++
				if !strings.Contains(text, "+0x") {
					bare++
				}
			}
		}
	}
	if made > 0 {
		out = append(out, fmt.Sprintf("%d different frames came without their address: each text has an address of ours", made))
	}
	if bare > 0 {
		out = append(out, fmt.Sprintf("%d of them are %s, so there are at least as many different stacks as counted here", bare, coarse))
	}
	if f.kernelFull || f.userFull {
		out = append(out, fmt.Sprintf("more than %d different frames, or %d MiB of their names: the later ones are shown as numbers", maxFrameTexts, maxFrameBytes>>20))
	}
	return out
}
