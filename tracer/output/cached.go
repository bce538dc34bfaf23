package output

import "slices"

// cachedText is a text that is appended often. Its first bytes are copied as a block of
// fixed size. That needs no call, so it is faster than copying only as many bytes as
// there are.
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

// textCache keeps texts under two numbers. It is an open hash table. When it holds
// maxTexts it is emptied, so that no capture can make it grow further.
type textCache struct {
	places []uint32 // their number is a power of two; 1 + the index in texts, or 0: free
	texts  []keyedText
}

type keyedText struct {
	a, b uint64
	cachedText
}

const (
	minTexts = 1 << 6
	maxTexts = 1 << 16
)

// place is where the index of the text for a and b is, or has to go.
func (c *textCache) place(a, b uint64) *uint32 {
	mask := uint64(len(c.places) - 1)
	for i := (a ^ b<<24) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		at := &c.places[i&mask]
		if *at == 0 {
			return at
		}
		if t := &c.texts[*at-1]; t.a == a && t.b == b {
			return at
		}
	}
}

// find gives the text for a and b; nil if there is none.
func (c *textCache) find(a, b uint64) *cachedText {
	if len(c.places) == 0 {
		return nil
	}
	at := *c.place(a, b)
	if at == 0 {
		return nil
	}
	return &c.texts[at-1].cachedText
}

// add keeps a copy of text for a and b, for which there must not be one yet.
func (c *textCache) add(a, b uint64, text []byte) *cachedText {
	switch {
	case len(c.texts) == maxTexts:
		clear(c.places)
		c.texts = c.texts[:0]
	case len(c.texts)*4 >= len(c.places):
		c.places = make([]uint32, max(4*minTexts, 4*len(c.places)))
		for i := range c.texts {
			t := &c.texts[i]
			*c.place(t.a, t.b) = uint32(i + 1)
		}
	}
	c.texts = append(c.texts, keyedText{a: a, b: b})
	*c.place(a, b) = uint32(len(c.texts))
	t := &c.texts[len(c.texts)-1].cachedText
	t.set(text)
	return t
}
