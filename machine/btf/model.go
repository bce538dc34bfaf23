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

// ID is the number of a type. 0 is void.
type ID uint32

// Kind is the kind of a type.
type Kind uint8

const (
	Void   Kind = iota
	Int         // an integer, char or bool
	Enum        // an enum of 32 bits
	Ptr         // a pointer to Elem
	Array       // an array of Elem
	Struct      // a structure or union
	Func        // a function, to which a pointer can point
)

// Type is one type.
type Type struct {
	Kind    Kind
	Name    string // "struct file", "u32"; empty for pointers, arrays and types without a name
	Size    int    // in bytes
	Signed  bool   // for an Int; char and bool are not signed
	Elem    ID     // for a Ptr and an Array
	Members []Member
}

// Member is a member of a structure. A member without a name is a structure or union
// whose own members count as members of the outer structure.
type Member struct {
	Name string
	Type ID
	Bit  int // its offset in bits
	Bits int // how many bits a bitfield has; 0: it is none
}

// Prototype says what a function takes and returns.
type Prototype struct {
	Params []Param
	Result ID
}

// Param is a parameter of a function.
type Param struct {
	Name string
	Type ID
}

// Model holds the types and functions of a kernel. It does not change.
type Model struct {
	types []Type
	names map[string]ID // types by name: "struct file", "u32", typedefs
	funcs map[string]Prototype
	ptrs  map[ID]ID
}

// Load returns the model of the simulated kernel, which is parsed the first time.
func Load() (*Model, error) { return load() }

var load = sync.OnceValues(func() (*Model, error) { return Parse(typesText, functionsText) })

// Func finds a function by its name.
//
// Kernel: btf_find_func_proto, kernel/trace/trace_btf.c.
func (m *Model) Func(name string) (Prototype, bool) {
	p, ok := m.funcs[name]
	return p, ok
}

// Type gives the type with that number; if there is none, the zero Type, which is void.
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

// Pointee gives the name of the structure to which a type points; ok is false if it
// points to none.
func (m *Model) Pointee(id ID) (name string, ok bool) {
	t := m.Type(id)
	if t.Kind != Ptr {
		return "", false
	}
	e := m.Type(t.Elem)
	return e.Name, e.Kind == Struct
}

// maxAnonymous is how many members without a name are searched at most.
//
// Kernel: BTF_ANON_STACK_MAX, kernel/trace/trace_btf.c.
const maxAnonymous = 16

// Member finds a member of a structure by its name. It also searches members without a
// name, the last one first. The offset counts from the start of the structure.
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

// Field finds a member of a structure by the names that lead to it, such as
// "d_name.name" in "dentry". The offset counts from the start of the structure.
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

// Offset gives the offset of a member in a structure, in bytes.
func (m *Model) Offset(structure, path string) (off uint64, ok bool) {
	field, ok := m.Field(structure, path)
	return uint64(field.Bit / 8), ok
}

// Size gives the size of a structure in bytes; 0 if the structure is not known.
func (m *Model) Size(structure string) int { return m.Type(m.names["struct "+structure]).Size }
