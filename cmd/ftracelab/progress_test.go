package main

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The line tells bytes, records and the time that is left, in the terminal's width, and
// is gone at the end. Short work shows none.
func TestProgress(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read := new(atomic.Int64)
	read.Store(3 << 20)
	for _, c := range []struct {
		since time.Duration
		width int
		want  string
	}{
		{0, 80, ""},
		{3 * time.Second, 80, "\r\x1b[K3.0 MiB of 12.0 MiB read, 4,096 records, about 9s left\r\x1b[K"},
		{3 * time.Second, 20, "\r\x1b[K3.0 MiB of 12.0 MiB\r\x1b[K"},
	} {
		p := &progress{screen: out, began: time.Now().Add(-c.since), width: c.width}
		w := &watched{progress: p, read: read, size: 12 << 20, records: 4096}
		w.say()
		w.say() // too soon to be drawn again
		p.end()
		if _, err := out.WriteString("|"); err != nil {
			t.Fatal(err)
		}
		if got := until(t, in, '|'); got != c.want {
			t.Errorf("after %v: %q, want %q", c.since, got, c.want)
		}
	}
	var none *progress
	none.say(nil, 0.5)
	none.end()
}

// until reads up to a mark.
func until(t *testing.T, r io.Reader, mark byte) string {
	t.Helper()
	var text strings.Builder
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, one); err != nil {
			t.Fatal(err)
		}
		if one[0] == mark {
			return text.String()
		}
		text.WriteByte(one[0])
	}
}
