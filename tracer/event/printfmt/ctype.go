package printfmt

import "strings"

// ctype is what evaluation needs of a C type. If elem > 0 it is a pointer to
// (or an array of) elements of elem bytes.
type ctype struct {
	size       int
	signed     bool
	elem       int
	elemSigned bool
}

var (
	intType   = ctype{size: 4, signed: true}
	ulongType = ctype{size: 8}
)

// pageStruct is sizeof(struct page) on x86-64, the unit of mem_map arithmetic.
const pageStruct = 64

// typedefs are the names the kernel's formats use, as x86-64 defines them.
// char is unsigned: the kernel is built with -funsigned-char.
var typedefs = map[string]ctype{
	"char": {size: 1}, "bool": {size: 1}, "_Bool": {size: 1}, "void": {size: 1},
	"u8": {size: 1}, "__u8": {size: 1}, "uint8_t": {size: 1}, "unchar": {size: 1},
	"u16": {size: 2}, "__u16": {size: 2}, "uint16_t": {size: 2}, "__le16": {size: 2}, "__be16": {size: 2}, "ushort": {size: 2}, "umode_t": {size: 2},
	"u32": {size: 4}, "__u32": {size: 4}, "uint32_t": {size: 4}, "__le32": {size: 4}, "__be32": {size: 4}, "uint": {size: 4}, "gfp_t": {size: 4},
	"dev_t": {size: 4}, "uid_t": {size: 4}, "gid_t": {size: 4}, "qid_t": {size: 4}, "fmode_t": {size: 4}, "blk_opf_t": {size: 4}, "rwf_t": {size: 4, signed: true},
	"u64": {size: 8}, "__u64": {size: 8}, "uint64_t": {size: 8}, "__le64": {size: 8}, "__be64": {size: 8}, "size_t": {size: 8}, "uintptr_t": {size: 8},
	"ulong": {size: 8}, "ino_t": {size: 8}, "sector_t": {size: 8}, "dma_addr_t": {size: 8}, "phys_addr_t": {size: 8}, "resource_size_t": {size: 8},
	"s8": {size: 1, signed: true}, "__s8": {size: 1, signed: true}, "int8_t": {size: 1, signed: true},
	"s16": {size: 2, signed: true}, "__s16": {size: 2, signed: true}, "int16_t": {size: 2, signed: true},
	"s32": {size: 4, signed: true}, "__s32": {size: 4, signed: true}, "int32_t": {size: 4, signed: true}, "pid_t": {size: 4, signed: true}, "clockid_t": {size: 4, signed: true},
	"s64": {size: 8, signed: true}, "__s64": {size: 8, signed: true}, "int64_t": {size: 8, signed: true}, "ssize_t": {size: 8, signed: true},
	"ktime_t": {size: 8, signed: true}, "loff_t": {size: 8, signed: true}, "off_t": {size: 8, signed: true}, "time64_t": {size: 8, signed: true},
	"uuid_t": {size: 16}, "guid_t": {size: 16},
}

// typeWords are the words of C's own that begin or continue a type name.
const typeWords = " unsigned signed int long short char void const volatile struct union enum bool _Bool "

// isTypeWord reports whether an identifier begins a type name. An unknown name
// that ends in _t counts, because the kernel's style marks a typedef like that.
func isTypeWord(name string) bool {
	if _, ok := typedefs[name]; ok {
		return true
	}
	return strings.Contains(typeWords, " "+name+" ") || strings.HasSuffix(name, "_t")
}

// typeOf returns the type that words name; stars is the number of pointer
// levels. An unknown type counts as 8 unsigned bytes, an enum as an int.
func typeOf(words []string, stars int) ctype {
	t := baseType(words)
	if stars == 1 {
		return ctype{size: 8, elem: t.size, elemSigned: t.signed}
	}
	if stars > 1 {
		return ctype{size: 8, elem: 8}
	}
	return t
}

func baseType(words []string) ctype {
	longs, unsigned, signed := 0, false, false
	t, named := ctype{}, false
	for i := 0; i < len(words); i++ {
		switch w := words[i]; w {
		case "const", "volatile", "__data_loc", "__rel_loc":
		case "unsigned":
			unsigned = true
		case "signed":
			signed = true
		case "long":
			longs++
		case "short":
			t, named = ctype{size: 2, signed: true}, true
		case "int":
			if !named {
				t, named = intType, true
			}
		case "enum":
			return ctype{size: 4}
		case "struct", "union":
			if i+1 < len(words) && words[i+1] == "page" {
				return ctype{size: pageStruct}
			}
			return ctype{size: 1}
		default:
			td, ok := typedefs[w]
			if !ok {
				td = ulongType
			}
			t, named = td, true
		}
	}
	switch {
	case longs > 0:
		t = ctype{size: 8, signed: true}
	case !named:
		t = intType
	}
	if unsigned {
		t.signed = false
	}
	if signed {
		t.signed = true
	}
	return t
}

// ElemSize is the size of one element of the type that begins a field's
// declaration ("__data_loc u64[] x" gives 8); ok is false for names unknown
// here, of which only the format file knows the size.
func ElemSize(decl string) (size int, ok bool) {
	end := strings.IndexByte(decl, '[')
	if end < 0 {
		end = len(decl)
	}
	words := strings.Fields(decl[:end])
	for len(words) > 0 && (words[0] == "__data_loc" || words[0] == "__rel_loc" || words[0] == "const") {
		words = words[1:]
	}
	if strings.Contains(decl, "*") {
		return 8, true
	}
	if len(words) == 0 || !isTypeWord(words[0]) || words[0] == "struct" || words[0] == "union" {
		return 0, false
	}
	if _, ok := typedefs[words[0]]; !ok && strings.HasSuffix(words[0], "_t") {
		return 0, false
	}
	if words[0] == "enum" {
		return 4, true
	}
	// The last word may be the field's name; names are not types.
	n := len(words)
	if n > 1 && !strings.Contains(typeWords, " "+words[n-1]+" ") {
		words = words[:n-1]
	}
	return baseType(words).size, true
}
