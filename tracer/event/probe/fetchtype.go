package probe

import (
	"strings"

	"ftracelab/tracefsfs/tracefile"
)

// fetchType is a type an argument can have.
//
// Kernel: struct fetch_type, kernel/trace/trace_probe.h.
type fetchType struct {
	name   string
	size   int // bytes in the fixed part
	signed bool
	text   bool   // the content is a string in the dynamic part
	format string // the conversion in the print fmt
	decl   string // the type in the format file
}

// fetchTypes are the types an argument can have. The conversion of a string is
// escaped as it stands in the print fmt.
//
// Kernel: probe_fetch_types, kernel/trace/trace_probe.c.
var fetchTypes = [...]fetchType{
	{"string", 4, true, true, `\"%s\"`, "__data_loc char[]"},
	{"ustring", 4, true, true, `\"%s\"`, "__data_loc char[]"},
	{"symstr", 4, true, true, `\"%s\"`, "__data_loc char[]"},
	{"u8", 1, false, false, "%u", "u8"},
	{"u16", 2, false, false, "%u", "u16"},
	{"u32", 4, false, false, "%u", "u32"},
	{"u64", 8, false, false, "%Lu", "u64"},
	{"s8", 1, true, false, "%d", "s8"},
	{"s16", 2, true, false, "%d", "s16"},
	{"s32", 4, true, false, "%d", "s32"},
	{"s64", 8, true, false, "%Ld", "s64"},
	{"x8", 1, false, false, "0x%x", "u8"},
	{"x16", 2, false, false, "0x%x", "u16"},
	{"x32", 4, false, false, "0x%x", "u32"},
	{"x64", 8, false, false, "0x%Lx", "u64"},
	{"char", 1, false, false, "'%c'", "u8"},
	{"symbol", 8, false, false, "%pS", "u64"},
}

// defaultType is the type of an argument that names none.
const defaultType = "x64"

// findType finds a type by name; for a bitfield it finds the type of its container. It
// returns nil if there is none. A probe of user space has no symbols.
//
// Kernel: find_fetch_type.
func findType(name string, user bool) *fetchType {
	if user && (name == "symbol" || name == "symstr") {
		return nil
	}
	if strings.HasPrefix(name, "b") {
		_, container, ok := strings.Cut(name, "/")
		bits, err := tracefile.ParseUlong(container, 0)
		if !ok || err != nil {
			return nil
		}
		switch bits {
		case 8:
			name = "u8"
		case 16:
			name = "u16"
		case 32:
			name = "u32"
		case 64:
			name = "u64"
		default:
			return nil
		}
	}
	for i := range fetchTypes {
		if fetchTypes[i].name == name {
			return &fetchTypes[i]
		}
	}
	return nil
}
