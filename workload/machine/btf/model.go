package btf

import (
	_ "embed"
	"strings"
	"sync"
)

//go:generate go run ftracelab/internal/facts types .

//go:embed types.txt
var typesText string

//go:embed functions.txt
var functionsText string

// ID numbers a type. 0 is void.
type ID uint32

// Kind is the kind of a type.
type Kind uint8

const (
	Void   Kind = iota
	Int         // integers, char, bool
	Enum        // 32 bits
	Ptr         // to Elem
	Array       // of Elem
	Struct      // or union
	Func        // what a pointer to a function points to
)

// Type is one type.
type Type struct {
	Kind    Kind
	Name    string // "struct file", "u32"; empty for pointers, arrays and types without name
	Size    int    // bytes
	Signed  bool   // of an Int; char and bool are not
	Elem    ID     // of a Ptr or an Array
	Members []Member
}

// Member is a member of a structure. One without a name is a structure or union whose
// own members count as the structure's.
type Member struct {
	Name string
	Type ID
	Bit  int // offset in bits
	Bits int // of a bitfield; 0 for others
}

// Prototype is what a function takes and returns.
type Prototype struct {
	Params []Param
	Result ID
}

// Param is a parameter of a function.
type Param struct {
	Name string
	Type ID
}

// Model is the types and functions of a kernel. It is read-only.
type Model struct {
	types []Type
	names map[string]ID // "struct file", "u32", typedefs
	funcs map[string]Prototype
	ptrs  map[ID]ID
}

// Load returns the model of the simulated kernel, which is parsed once.
func Load() (*Model, error) { return load() }

var load = sync.OnceValues(func() (*Model, error) { return Parse(typesText, functionsText) })

// Func finds a function by its name.
//
// Kernel: btf_find_func_proto, kernel/trace/trace_btf.c.
func (m *Model) Func(name string) (Prototype, bool) {
	p, ok := m.funcs[name]
	return p, ok
}

// Type is the type of that number; the zero Type, which is void, if there is none.
func (m *Model) Type(id ID) Type {
	if int(id) >= len(m.types) {
		return Type{}
	}
	return m.types[id]
}

// Named finds a type by its name: "struct file", "u32", "loff_t".
func (m *Model) Named(name string) (ID, bool) {
	id, ok := m.names[name]
	return id, ok
}

// Pointee is the structure that a type points to; not ok if it does not.
func (m *Model) Pointee(id ID) (name string, ok bool) {
	t := m.Type(id)
	if t.Kind != Ptr {
		return "", false
	}
	e := m.Type(t.Elem)
	return e.Name, e.Kind == Struct
}

// maxAnonymous bounds how many members without a name are looked into.
//
// Kernel: BTF_ANON_STACK_MAX, kernel/trace/trace_btf.c.
const maxAnonymous = 16

// Member finds a member of a structure by its name, also in its members without name:
// of those the last first. Its offset is from the structure's start.
//
// Kernel: btf_find_struct_member, kernel/trace/trace_btf.c.
func (m *Model) Member(id ID, name string) (Member, bool) {
	type within struct {
		id  ID
		bit int
	}
	stack := make([]within, 0, maxAnonymous)
	for at := (within{id: id}); ; {
		for _, member := range m.Type(at.id).Members {
			switch {
			case member.Name == name && name != "":
				member.Bit += at.bit
				return member, true
			case member.Name == "" && len(stack) < maxAnonymous:
				stack = append(stack, within{member.Type, at.bit + member.Bit})
			}
		}
		n := len(stack)
		if n == 0 {
			return Member{}, false
		}
		at, stack = stack[n-1], stack[:n-1]
	}
}

// Field finds a member of a structure by the names that lead to it, "d_name.name" in
// "dentry". Its offset is from the structure's start.
func (m *Model) Field(structure, path string) (field Member, ok bool) {
	if field.Type, ok = m.names["struct "+structure]; !ok {
		return Member{}, false
	}
	for path != "" {
		name, rest, _ := strings.Cut(path, ".")
		member, ok := m.Member(field.Type, name)
		if !ok {
			return Member{}, false
		}
		member.Bit += field.Bit
		field, path = member, rest
	}
	return field, true
}

// Offset is where a member is in a structure, in bytes.
func (m *Model) Offset(structure, path string) (off uint64, ok bool) {
	field, ok := m.Field(structure, path)
	return uint64(field.Bit / 8), ok
}

// Size is the size of a structure in bytes, 0 if it is not known.
func (m *Model) Size(structure string) int { return m.Type(m.names["struct "+structure]).Size }
