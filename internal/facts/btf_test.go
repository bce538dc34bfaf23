package main

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine/btf"
)

// image writes a section .BTF.
type image struct {
	types, names []byte
}

func (m *image) name(s string) uint32 {
	if s == "" {
		return 0
	}
	m.names = append(append(m.names, s...), 0)
	return uint32(len(m.names) - len(s) - 1)
}

// add adds a type: its kind, number of parts and flag, its size or what it refers to,
// and the words behind.
func (m *image) add(name string, k kind, vlen uint32, flag bool, to uint32, words ...uint32) {
	info := uint32(k)<<24 | vlen
	if flag {
		info |= 1 << 31
	}
	for _, w := range append([]uint32{m.name(name), info, to}, words...) {
		m.types = binary.LittleEndian.AppendUint32(m.types, w)
	}
}

func (m *image) bytes() []byte {
	b := []byte{0x9f, 0xeb, 1, 0}
	for _, w := range []int{24, 0, len(m.types), len(m.types), len(m.names)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(w))
	}
	return slices.Concat(b, m.types, m.names)
}

func sample() []byte {
	m := &image{names: []byte{0}}
	m.add("int", kindInt, 0, false, 4, 1<<24|32)           // 1
	m.add("long unsigned int", kindInt, 0, false, 8, 64)   // 2
	m.add("", kindStruct, 1, false, 4, m.name("n"), 1, 0)  // 3
	m.add("count_t", kindTypedef, 0, false, 3)             // 4
	m.add("", kindArray, 0, false, 0, 4, 1, 2)             // 5: count_t[2]
	m.add("node", kindStruct, 5, true, 32, m.name("next"), // 6
		7, 0, m.name("counts"), 5, 64, m.name("low"), 1, 3<<24|128, m.name("high"), 1, 5<<24|131, 0, 9, 192)
	m.add("", kindPtr, 0, false, 8)                                                // 7: const struct node *
	m.add("", kindConst, 0, false, 6)                                              // 8
	m.add("", kindUnion, 2, false, 8, m.name("word"), 2, 0, m.name("call"), 11, 0) // 9
	m.add("", kindProto, 2, false, 1, m.name("at"), 7, 0, 0)                       // 10: int (at, …)
	m.add("", kindPtr, 0, false, 10)                                               // 11
	m.add("walk", kindFunc, 1, false, 10)                                          // 12
	m.add("", kindProto, 2, false, 7, m.name("flags"), 2, m.name("how"), 14)       // 13
	m.add("how", kindEnum, 1, false, 4, m.name("DEEP"), 1)                         // 14
	m.add("find", kindFunc, 1, false, 13)                                          // 15
	return m.bytes()
}

// What a kernel's BTF says is what the model then knows.
func TestTexts(t *testing.T) {
	d := new(btfData)
	if err := d.parse(sample()); err != nil {
		t.Fatal(err)
	}
	w := &writer{types: d.types, typedefs: map[string]string{}, wanted: map[string]int{"struct node": 6}}
	layouts := w.layouts()
	want := "struct count_t 4\n\t0 s32 n\nstruct node 32\n\t0 struct node *next\n\t8 count_t counts[2]\n" +
		"\t16.0 s32 low:3\n\t16.3 s32 high:5\n\t24 union 8\n\t\t0 u64 word\n\t\t0 func *call\n"
	if layouts != want || w.err != nil {
		t.Errorf("layouts: %v\n%s\nwant\n%s", w.err, layouts, want)
	}
	protos := w.prototype(&d.types[12]) + "\n" + w.prototype(&d.types[15])
	if want := "int walk(struct node *at)\nstruct node *find(unsigned long flags, enum how how)"; protos != want {
		t.Errorf("prototypes: %s\nwant %s", protos, want)
	}
	if w.typedefs["count_t"] != "struct count_t" {
		t.Errorf("typedefs: %v", w.typedefs)
	}
	m, err := btf.Parse("typedef struct count_t count_t\n"+layouts, protos)
	if err != nil {
		t.Fatal(err)
	}
	if off, ok := m.Offset("node", "call"); off != 24 || !ok || m.Size("count_t") != 4 {
		t.Errorf("node.call at %d (%v), a count_t of %d bytes", off, ok, m.Size("count_t"))
	}
}

// A module's types and names are numbered behind the kernel's.
func TestModule(t *testing.T) {
	d := new(btfData)
	if err := d.parse(sample()); err != nil {
		t.Fatal(err)
	}
	base, names := len(d.types), uint32(len(d.names))
	m := &image{}
	m.add("", kindPtr, 0, false, 6)
	m.types = append(m.types, 0, 0, 0, 0, 0, 0, 0, 12, byte(base), 0, 0, 0) // a function of that type
	copy(m.types[12:], binary.LittleEndian.AppendUint32(nil, names))
	m.names = []byte("go\x00")
	if err := d.parse(m.bytes()); err != nil {
		t.Fatal(err)
	}
	if last := d.types[len(d.types)-1]; last.name != "go" || last.to != base {
		t.Errorf("%+v, want go of type %d", last, base)
	}
}

// A section that is cut off anywhere is refused, as is one with a wrong number.
func TestBadBTF(t *testing.T) {
	good := sample()
	for n := range good {
		if err := new(btfData).parse(good[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken", n, len(good))
		}
	}
	m := &image{names: []byte{0}}
	m.add("", kindPtr, 0, false, 9)
	if err := new(btfData).parse(m.bytes()); err == nil || !strings.Contains(err.Error(), "type 1 refers") {
		t.Errorf("a pointer to nothing: %v", err)
	}
}
