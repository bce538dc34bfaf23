// Package glob matches names with the patterns of the kernel, in filters of events and
// where functions are selected.
package glob

// Match matches all of s with a glob: * ? [a-z] [!a-z] and a backslash that
// takes the next character literally.
//
// Kernel: glob_match_len, lib/glob.c.
func Match[S string | []byte](glob string, s S) bool {
	retryGlob, retry := -1, 0 // behind the last *, and where it was tried
	g, i := 0, 0
	for {
		if g < len(glob) && glob[g] == '*' {
			g++
			retryGlob, retry = g, i
			if g == len(glob) {
				return true
			}
			continue
		}
		if i == len(s) {
			return g == len(glob) || glob[g:] == `\`
		}
		if width, ok := matchOne(glob[g:], s[i]); ok {
			g += width
			i++
			continue
		}
		if retryGlob < 0 {
			return false
		}
		retry++
		g, i = retryGlob, retry
	}
}

// matchOne matches c with the first element of a glob and returns its width.
func matchOne(glob string, c byte) (width int, ok bool) {
	if glob == "" {
		return 0, false
	}
	switch glob[0] {
	case '?':
		return 1, true
	case '[':
		if width, ok := matchClass(glob, c); width > 0 {
			return width, ok
		}
	case '\\':
		return 2, len(glob) > 1 && glob[1] == c
	}
	return 1, glob[0] == c
}

// matchClass matches c with a bracket expression; width is 0 if it has no end
// and the bracket is an ordinary character.
func matchClass(glob string, c byte) (width int, ok bool) {
	i, inverted := 1, false
	if i < len(glob) && glob[i] == '!' {
		i, inverted = i+1, true
	}
	for first := true; i < len(glob); first = false {
		low := glob[i]
		i++
		if low == ']' && !first {
			return i, ok != inverted
		}
		high := low
		if i < len(glob) && glob[i] == '-' && (i+1 == len(glob) || glob[i+1] != ']') {
			if i+1 == len(glob) {
				return 0, false
			}
			high = glob[i+1]
			i += 2
		}
		if low <= c && c <= high {
			ok = true
		}
	}
	return 0, false
}
