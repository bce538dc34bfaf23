package klog_test

import (
	"bytes"
	"strings"
	"testing"

	"ftracelab/machine/klog"
)

// FuzzWrite: whatever is written to /dev/kmsg becomes one record, on one line of printable
// characters, whose text is part of what was written.
func FuzzWrite(f *testing.F) {
	for _, s := range []string{"hello\n", "<3>x", "<>y", "<12", "<99999999999999999999>v", "<-1>\x00\n", "a\nb\\\x7f", strings.Repeat("x", 1025)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		l := klog.New()
		if err := l.Write(klog.Source{}, 0, new(klog.Limit), p); (err != nil) != (len(p) > 1024) {
			t.Fatalf("%d bytes: %v", len(p), err)
		} else if err != nil {
			return
		}
		l.Print(klog.Source{}, 0, klog.Kern, klog.Info, "next\n")
		r, ok := l.Next(0)
		if !ok || l.End() != 2 || r.Level > klog.Debug || r.Facility == klog.Kern || r.Facility > 255 || len(r.Text) > klog.MaxText {
			t.Fatalf("%q became %+v", p, r)
		}
		if !bytes.Contains(p, []byte(r.Text)) || strings.Contains(r.Text, "\x00") {
			t.Fatalf("%q has the text %q", p, r.Text)
		}
		line := r.AppendKmsg(nil)
		for n, c := range line {
			if c >= 127 || c < ' ' && n != len(line)-1 {
				t.Fatalf("%q is shown as %q", p, line)
			}
		}
	})
}
