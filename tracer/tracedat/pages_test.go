package tracedat

import (
	"bytes"
	"io"
	"testing"
)

// Peek gives what Read does, wherever a chunk ends.
func TestPeek(t *testing.T) {
	s := native.sources()
	var pages []byte
	for i := range 2*pagesInChunk + 3 {
		pages = append(pages, native.page(uint64(1000*i), 0)...)
	}
	s[0].CPUs[0].Pages = bytes.NewReader(pages)
	var out file
	if err := Write(&out, Target{Version: Version7, Compression: "zstd"}, native.meta(), s[:1]); err != nil {
		t.Fatal(err)
	}
	f, err := New(bytes.NewReader(out.data), int64(len(out.data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	cpu := s[0].CPUs[0].CPU
	want, err := io.ReadAll(f.Pages(&f.Buffers[0], cpu))
	if err != nil || !bytes.Equal(want, pages) {
		t.Fatalf("%d bytes, %v", len(want), err)
	}
	c := f.Pages(&f.Buffers[0], cpu).(*chunks)
	var got []byte
	for n := 1; err == nil; n += 977 {
		var b []byte
		b, err = c.Peek(n)
		got = append(got, b...)
		if k, derr := c.Discard(len(b)); k != len(b) || derr != nil {
			t.Fatalf("%d of %d bytes discarded, %v", k, len(b), derr)
		}
	}
	if err != io.EOF || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}
