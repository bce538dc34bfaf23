package filter

// Characters are the kernel's: bytes of Latin-1.
//
// Kernel: _ctype, lib/ctype.c.

const nbsp = 0xa0

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' || c == nbsp }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0xc0 && c != 0xd7 && c != 0xf7
}

// SkipSpace is s without the blanks it begins with.
//
// Kernel: skip_spaces, lib/string_helpers.c.
func SkipSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}
