package klog_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine/klog"
)

const us = 1000

func kmsg(r klog.Record) string { return string(r.AppendKmsg(nil)) }

// last is the youngest record.
func last(t *testing.T, l *klog.Log) klog.Record {
	t.Helper()
	r, ok := l.Next(l.End() - 1)
	if !ok {
		t.Fatal("the log is empty")
	}
	return r
}

// The right column is what a real 6.12 gave a reader of /dev/kmsg after each write.
func TestWritesToKmsg(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"hello\n", "12;hello"},
		{"<3>x\n", "11;x"},
		{"<30>daemon\n", "30;daemon"},
		{"<abc>y\n", "12;<abc>y"},
		{"<>y\n", "8;y"},
		{"< 3>y\n", "12;< 3>y"},
		{"<3\n", "12;<3"},
		{"<4294967299>w\n", "11;w"},
		{"<99999999999999999999>v\n", "2047;v"},
		{"<-1>v\n", "12;<-1>v"},
		{"<0x3>v\n", "12;<0x3>v"},
		{"<1023>v\n", "1023;v"},
		{"<12>\n", "12;"},
		{"\n", "12;"},
		{"", "12;"},
		{"a\x00b\n", "12;a"},
		{"nonl", "12;nonl"},
		{"tab\there\\ \xc3\xa9\x01\x7f\n", `12;tab\x09here\x5c \xc3\xa9\x01\x7f`},
		{"a\nb\n", `12;a\x0ab`},
		{strings.Repeat("x", 1024), "12;" + strings.Repeat("x", 1023)},
		{strings.Repeat("y", 1023), "12;" + strings.Repeat("y", 1023)},
	} {
		l := klog.New()
		if err := l.Write(klog.Source{}, 7*us, new(klog.Limit), []byte(c.written)); err != nil {
			t.Errorf("%q: %v", c.written, err)
			continue
		}
		text, _, _ := strings.Cut(c.written, "\x00")
		if final := strings.HasSuffix(text, "\n"); (l.End() == 1) != final {
			t.Errorf("%.40q: %d records can be read", c.written, l.End())
		}
		l.Print(klog.Source{}, 0, klog.Kern, klog.Info, "next\n")
		priority, shown, _ := strings.Cut(c.want, ";")
		first, _ := l.Next(0)
		if got, want := kmsg(first), priority+",0,7,-;"+shown+"\n"; got != want {
			t.Errorf("%.40q: %q, want %q", c.written, got, want)
		}
	}
	l := klog.New()
	if err := l.Write(klog.Source{}, 0, new(klog.Limit), make([]byte, 1025)); !errors.Is(err, syscall.EINVAL) || l.End() != 0 {
		t.Errorf("1025 bytes: %v", err)
	}
}

// One open file writes ten messages in five seconds; the rest is counted.
func TestRateLimit(t *testing.T) {
	l, m := klog.New(), new(klog.Limit)
	by := klog.Source{Comm: "bash"}
	for range 15 {
		if err := l.Write(by, 1, m, []byte("m\n")); err != nil {
			t.Fatal(err)
		}
	}
	if l.End() != 10 {
		t.Errorf("%d of 15 messages are there, want 10", l.End())
	}
	if err := l.Write(by, 5e9+2, m, []byte("later\n")); err != nil || l.End() != 11 {
		t.Errorf("after 5 s: %d messages, %v", l.End(), err)
	}
	l.Release(by, 5e9+3, m)
	r := last(t, l)
	if r.Text != "printk: bash: 5 output lines suppressed due to ratelimiting" || r.Priority() != 4 {
		t.Errorf("at the end <%d>%q", r.Priority(), r.Text)
	}
	if l.Release(by, 5e9+3, m); l.End() != 12 {
		t.Error("a file without lost messages says something")
	}
}

func TestText(t *testing.T) {
	r := klog.Record{Time: 12_345_678_999, Facility: klog.User, Level: klog.Warning, Text: "a\n\nb"}
	if got := string(r.AppendLines(nil)); got != "[   12.345678] a\n[   12.345678] \n[   12.345678] b\n" {
		t.Errorf("lines: %q", got)
	}
	if got := string(r.AppendSyslog(nil)); got != "<12>[   12.345678] a\n<12>[   12.345678] \n<12>[   12.345678] b\n" {
		t.Errorf("syslog: %q", got)
	}
}

// What is urgent enough appears on the console.
func TestConsole(t *testing.T) {
	var console strings.Builder
	l := klog.New()
	l.Console = &console
	if l.Levels() != [4]int32{4, 4, 1, 7} {
		t.Fatalf("levels %v", l.Levels())
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, "err "},
		{func() error { return l.SetConsoleLevel(8) }, "err warning debug default "},
		{func() error { l.SetConsole(false); return nil }, ""},
		{func() error { l.SetConsole(true); return nil }, "err warning debug default "},
		{func() error { l.SetLevels([4]int32{3, 2, 1, 7}); return nil }, "default "},
		{func() error { l.SetLevels([4]int32{8, 4, 4, 7}); return l.SetConsoleLevel(1) }, "err "},
	}
	for n, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		console.Reset()
		for _, m := range []struct {
			level klog.Level
			text  string
		}{{klog.Err, "err\n"}, {klog.Warning, "warning\n"}, {klog.Debug, "debug\n"}, {klog.Default, "default\n"}} {
			l.Print(klog.Source{}, 0, klog.Kern, m.level, m.text)
		}
		if got := strings.ReplaceAll(strings.ReplaceAll(console.String(), "[    0.000000] ", ""), "\n", " "); got != s.want {
			t.Errorf("step %d: the console shows %q, want %q", n, got, s.want)
		}
	}
	for _, level := range []int{0, 9} {
		if err := l.SetConsoleLevel(level); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("level %d: %v", level, err)
		}
	}
}

// A reader of an old number gets the oldest record that is there.
func TestNextAndClear(t *testing.T) {
	l := klog.New()
	if _, ok := l.Next(0); ok || l.First() != 0 {
		t.Error("an empty log has a record")
	}
	for range 5000 {
		l.Print(klog.Source{}, 0, klog.Kern, klog.Info, "x\n")
	}
	if l.First() != 5000-4096 {
		t.Errorf("the oldest of 5000 is %d, want %d", l.First(), 5000-4096)
	}
	if r, ok := l.Next(3); !ok || r.Seq != l.First() {
		t.Errorf("after 3 comes %d", r.Seq)
	}
	if r, ok := l.Next(4999); !ok || r.Seq != 4999 {
		t.Errorf("4999 is %d, %v", r.Seq, ok)
	}
	if _, ok := l.Next(5000); ok {
		t.Error("5000 is there")
	}
	if l.Clear(); l.Cleared() != 5000 || l.First() != 5000-4096 {
		t.Errorf("after Clear: %d, %d", l.Cleared(), l.First())
	}
}

// The tracer hears of a message before it is in the log.
func TestTrace(t *testing.T) {
	l := klog.New()
	l.Trace = func(by klog.Source, time uint64, text string) {
		if by.CPU != 2 || time != 9 || text != "cut" || l.End() != 0 {
			t.Errorf("%+v at %d: %q, %d in the log", by, time, text, l.End())
		}
	}
	l.Print(klog.Source{CPU: 2}, 9, klog.Kern, klog.Info, "cut\n")
	if l.End() != 1 {
		t.Error("nothing is in the log")
	}
}

// What a full log keeps is what a real 6.12 kept, whose log was filled in the same way:
// after so many writes of so many bytes, and one of "mark", it had so many records.
func TestDropsTheOldest(t *testing.T) {
	l := klog.New()
	write := func(n, size int) {
		for range n {
			l.Print(klog.Source{}, 0, klog.User, klog.Default, strings.Repeat("x", size-1)+"\n")
		}
	}
	for _, c := range []struct {
		n, size int
		kept    uint64
	}{
		{3000, 1000, 129},
		{300, 1000, 129},
		{5000, 1, 4096},
		{5000, 20, 4096},
		{1, 1000, 4065},
		{6000, 40, 2340},
		{3000, 100, 1170},
		{1, 900, 1164},
		{1, 900, 1158},
		{1, 900, 1152},
	} {
		write(c.n, c.size)
		write(1, len("mark\n"))
		if kept := l.End() - l.First(); kept != c.kept {
			t.Errorf("%d writes of %d bytes: %d records are kept, a kernel keeps %d", c.n, c.size, kept, c.kept)
		}
	}
}

// syslog(2) gives the last records that have room.
func TestSyslog(t *testing.T) {
	l := klog.New()
	for _, text := range []string{"one\n", "two\nlines\n", "three\n"} {
		l.Print(klog.Source{}, 1e9, klog.User, klog.Err, text)
	}
	const (
		one   = "<11>[    1.000000] one\n"
		two   = "<11>[    1.000000] two\n<11>[    1.000000] lines\n"
		three = "<11>[    1.000000] three\n"
	)
	for _, c := range []struct {
		action, size int
		text         string
		n            int
		err          error
	}{
		{3, 1000, one + two + three, len(one + two + three), nil},
		{3, len(one+two+three) - 1, two + three, len(two + three), nil},
		{3, len(two + three), two + three, len(two + three), nil},
		{3, len(three), three, len(three), nil},
		{3, 5, "", 0, nil},
		{3, -1, "", 0, syscall.EINVAL},
		{4, 0, "", 0, nil},
		{10, 0, "", 1 << 17, nil},
		{0, 0, "", 0, nil},
		{1, 0, "", 0, nil},
		{6, 0, "", 0, nil},
		{7, 0, "", 0, nil},
		{8, 5, "", 0, nil},
		{8, 9, "", 0, syscall.EINVAL},
		{11, 0, "", 0, syscall.EINVAL},
		{-1, 0, "", 0, syscall.EINVAL},
		{2, 100, "", 0, syscall.EPERM},
		{4, len(three), three, len(three), nil},
		{3, 1000, "", 0, nil},
	} {
		text, n, err := l.Syslog(c.action, c.size)
		if string(text) != c.text || n != c.n || !errors.Is(err, c.err) {
			t.Errorf("syslog(%d, %d): %q, %d, %v; want %q, %d, %v", c.action, c.size, text, n, err, c.text, c.n, c.err)
		}
	}
	if l.Levels()[0] != 5 || l.First() != 0 {
		t.Errorf("level %d, the oldest record is %d", l.Levels()[0], l.First())
	}
	if _, _, err := l.Syslog(5, 0); err != nil || l.Cleared() != l.End() {
		t.Errorf("clear: %v", err)
	}
}
