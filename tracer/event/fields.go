package event

import (
	"bytes"
	"strconv"
	"strings"
)

// AppendFields appends " name=value" for every field except the common ones:
// the text of an event under the option "fields".
//
// Kernel: print_fields, kernel/trace/trace_output.c.
func (t *Type) AppendFields(dst, data []byte, env *Env) []byte {
	for i := range t.Fields {
		f := &t.Fields[i]
		dst = append(dst, ' ')
		dst = append(dst, f.Name...)
		dst = append(dst, '=')
		dst = f.appendValue(dst, data, env)
	}
	return dst
}

// appendValue writes one field's value by its kind and size.
func (f *Field) appendValue(dst, data []byte, env *Env) []byte {
	const overflow = "<OVERFLOW>"
	if f.Offset+f.Size > len(data) {
		return append(dst, overflow...)
	}
	if f.Dynamic() {
		b := f.Bytes(data)
		if len(b) != int(f.Uint(data)>>16) {
			return append(dst, overflow...)
		}
		if f.IsText() {
			return append(dst, text(b)...)
		}
		return appendHexList(dst, b)
	}
	if f.IsText() {
		return append(dst, text(f.Bytes(data))...)
	}
	v := f.Uint(data)
	switch f.Size {
	case 1:
		if v >= ' ' && v <= '~' {
			dst = append(dst, '\'', byte(v), '\'')
		}
		dst = append(dst, '(')
		dst = strconv.AppendUint(dst, v, 10)
		return append(dst, ')')
	case 2:
		return appendHexDec(dst, v, int64(v))
	case 4:
		return appendHexDec(dst, v, int64(int32(v)))
	case 8:
		if f.isCharPointer() {
			return appendPointerString(dst, v, env)
		}
		return appendHexDec(dst, v, int64(v))
	}
	return append(dst, "<INVALID-SIZE>"...)
}

func (f *Field) isCharPointer() bool {
	return strings.HasPrefix(strings.TrimPrefix(f.Decl, "const "), "char *")
}

func appendPointerString(dst []byte, addr uint64, env *Env) []byte {
	dst = append(dst, "(0x"...)
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[addr>>shift&15])
	}
	if env != nil && env.Strings != nil {
		if s, ok := env.Strings(addr); ok {
			dst = append(dst, ':')
			dst = append(dst, s...)
		}
	}
	return append(dst, ')')
}

func appendHexDec(dst []byte, v uint64, d int64) []byte {
	dst = append(dst, "0x"...)
	dst = strconv.AppendUint(dst, v, 16)
	dst = append(dst, " ("...)
	dst = strconv.AppendInt(dst, d, 10)
	return append(dst, ')')
}

func appendHexList(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

func text(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
