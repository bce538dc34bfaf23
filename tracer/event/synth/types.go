package synth

import (
	"strings"

	"ftracelab/tracefsfs/tracefile"
)

// scalars are the types of numbers, with their sizes in bytes and the conversions that
// print them.
//
// Kernel: synth_field_size and synth_field_fmt.
var scalars = []struct {
	name       string
	size       int
	conversion string
}{
	{"s64", 8, "%lld"},
	{"u64", 8, "%llu"},
	{"s32", 4, "%d"},
	{"u32", 4, "%u"},
	{"s16", 2, "%d"},
	{"u16", 2, "%u"},
	{"s8", 1, "%d"},
	{"u8", 1, "%u"},
	{"char", 1, "%d"},
	{"unsigned char", 1, "%u"},
	{"int", 4, "%d"},
	{"unsigned int", 4, "%u"},
	{"long", 8, "%ld"},
	{"unsigned long", 8, "%lu"},
	{"bool", 1, "%d"},
	{"pid_t", 4, "%d"},
	{"gfp_t", 4, "%x"},
}

// Conversion is the conversion of printf for a field of a type.
//
// Kernel: synth_field_fmt.
func Conversion(typ string) string {
	for i := range scalars {
		if scalars[i].name == typ {
			return scalars[i].conversion
		}
	}
	if isText(typ) || isStack(typ) {
		return "%s"
	}
	return "%llu"
}

// StringSize is the room a record has for a char[N], and the largest N.
//
// Kernel: STR_VAR_LEN_MAX, kernel/trace/trace_synth.h.
const StringSize = 256

// A type is accepted if its name contains one of these texts; even xchar[8] is.
//
// Kernel: synth_field_is_string and synth_field_is_stack.
func isText(typ string) bool  { return strings.Contains(typ, "char[") }
func isStack(typ string) bool { return strings.Contains(typ, "long[") }

// sizeOf returns a type's size in bytes. It returns 0 for a text or stack of any
// length, and also if there is no such type. It returns -1 for a text with a faulty
// length.
//
// Kernel: synth_field_size.
func sizeOf(typ string) int {
	for i := range scalars {
		if scalars[i].name == typ {
			return scalars[i].size
		}
	}
	if isText(typ) {
		return textSize(typ)
	}
	return 0
}

// textSize returns the N of a char[N], which is a number as C writes it, with up to
// three characters. It returns 0 for a char[], and -1 if N is faulty.
//
// Kernel: synth_field_string_size.
func textSize(typ string) int {
	start := strings.Index(typ, "char[") + len("char[")
	end := strings.IndexByte(typ, ']')
	if end < start || end != len(typ)-1 || end-start > 3 {
		return -1
	}
	if end == start {
		return 0
	}
	n, err := tracefile.ParseUlong(typ[start:end], 0)
	if err != nil || n > StringSize {
		return -1
	}
	return int(n)
}
