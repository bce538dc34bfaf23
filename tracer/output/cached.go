package output

import "slices"

// cachedText is a text that is appended often. A fixed number of bytes is copied
// without a call, which is quicker than to copy only as many as there are.
type cachedText struct {
	len  int
	head [cachedHead]byte
	rest []byte // behind head
}

const cachedHead = 64

// set makes t a copy of text.
func (t *cachedText) set(text []byte) {
	n := copy(t.head[:], text)
	t.len, t.rest = n, slices.Clone(text[n:])
}

func (t *cachedText) appendTo(dst []byte) []byte {
	at := len(dst)
	if cap(dst)-at < cachedHead {
		dst = slices.Grow(dst, cachedHead)
	}
	*(*[cachedHead]byte)(dst[at : at+cachedHead]) = t.head
	dst = dst[:at+t.len]
	if len(t.rest) > 0 {
		dst = append(dst, t.rest...)
	}
	return dst
}
