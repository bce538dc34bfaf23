package tracer

// globMatch matches the kernel's globs: * ? [a-z] [!a-z] and a backslash that
// takes the next character literally.
//
// Kernel: glob_match, lib/glob.c.
func globMatch(pattern, s string) bool {
	backP, backS := -1, 0
	p, n := 0, 0
	for n < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			backP, backS = p, n
			p++
			continue
		}
		if width, ok := matchOne(pattern[p:], s[n]); ok {
			p += width
			n++
			continue
		}
		if backP < 0 {
			return false
		}
		backS++
		p, n = backP+1, backS
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches c with the first element of pattern and returns its width.
func matchOne(pattern string, c byte) (width int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		if width, ok, isClass := matchClass(pattern, c); isClass {
			return width, ok
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// matchClass matches a bracket expression; a bracket without its end is an
// ordinary character.
func matchClass(pattern string, c byte) (width int, ok, isClass bool) {
	n, inverted := 1, false
	if n < len(pattern) && pattern[n] == '!' {
		inverted = true
		n++
	}
	for first := true; n < len(pattern); first = false {
		a := pattern[n]
		if a == ']' && !first {
			return n + 1, ok != inverted, true
		}
		b := a
		n++
		if n+1 < len(pattern) && pattern[n] == '-' && pattern[n+1] != ']' {
			b = pattern[n+1]
			n += 2
		}
		if a <= c && c <= b {
			ok = true
		}
	}
	return 0, false, false
}

// Kernel: isspace, include/linux/ctype.h.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0xa0 }
