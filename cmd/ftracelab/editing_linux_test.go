package main

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sees waits until a terminal shows a screen; | is the cursor.
func (x *terminal) sees(t *testing.T, what, want string) {
	t.Helper()
	want = strings.Trim(want, "\n") + "\n"
	for range 1500 {
		x.mu.Lock()
		got := x.screen.WithCursor("|")
		x.mu.Unlock()
		if got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: the screen is\n%s\nwant\n%s", what, x.screen.WithCursor("|"), want)
}

// resized gives the terminal another size, of which the shell is told.
func (x *terminal) resized(t *testing.T, width, height int) {
	t.Helper()
	x.mu.Lock()
	x.screen.Resize(width, height)
	x.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(x.its.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)}); err != nil {
		t.Fatal(err)
	}
	if err := x.Process.Signal(syscall.SIGWINCH); err != nil { // the kernel tells only of real changes
		t.Fatal(err)
	}
}

const atPrompt = "/sys/kernel/tracing # "

// wrapped is how a text stands on a screen; | is the cursor.
func wrapped(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, r := range text {
		wide := 1
		switch {
		case r == '\n':
			b.WriteByte('\n')
			column = 0
			continue
		case r == '|' || r == '\u0301':
			wide = 0
		case r > 0x2000:
			wide = 2
		}
		if column+wide > width || column == width && r == '|' {
			b.WriteByte('\n')
			column = 0
		}
		b.WriteRune(r)
		column += wide
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

const (
	ctrlL = "\x0c"
	ctrlC = "\x03"
)

// TestEditing: the keys of Emacs, wide and combining characters, and pasted lines, on
// terminals of three widths. What is on the screen is compared, and then what the shell
// made of the line.
func TestEditing(t *testing.T) {
	for _, width := range []int{20, 40, 80} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			x := startTerminalOf(t, unix.Winsize{Col: uint16(width), Row: 12}, []string{"TERM=xterm", "XDG_STATE_HOME=" + t.TempDir()}, "shell", "--cpus", "1")
			x.shows(t, "# ")
			for _, c := range []struct{ typed, want string }{
				{"echo one\x01\x06x\x05y\x02\x02z", "excho onz|ey"},
				{"echo one two\x17\x15x\x19!", "xecho one two!|"},
				{"echo one\x1bb\x1bdx", "echo x|"},
				{"echo one\x1bb\x1bb\x1bf\x0b\x19\x19", "echo one one|"},
				{"ehco\x02\x02\x14", "ech|o"},
				{"abc\x1b[D\x1b[D\x1b[3~\x1b[Hx\x1b[Fy", "xacy|"},
				{"echo 漢字\x1b[Dx", "echo 漢x|字"},
				{"echo 漢字漢字漢字漢字漢字漢字\x7f\x7f", "echo 漢字漢字漢字漢字漢字|"},
				{"echo e\u0301e\u0301\x02\x02\x04", "echo |e\u0301"},
				{"echo 한글 текст\x1bb\x1bb|", "echo ||한글 текст"},
				{strings.Repeat("0123456789", 9) + "\x01-\x05", "-" + strings.Repeat("0123456789", 9) + "|"},
				{"echo \x1b[200~漢\n字\x1b[201~", "echo 漢\n字|"},
			} {
				x.types(t, ctrlL+c.typed)
				x.sees(t, fmt.Sprintf("%q", c.typed), wrapped(atPrompt+c.want, width))
				x.types(t, ctrlC)
				x.shows(t, "^C\r\n")
				x.shows(t, "# ") // from now on, the terminal keeps no key for itself
			}
			x.types(t, ctrlL+"clear; printf '%s.' 漢字x e\u0301 a\x1bb\x1bb\x02\x7f\r")
			x.sees(t, "a line without an end", "漢字.e\u0301.a.%\n"+wrapped(atPrompt+"|", width))
			x.types(t, "clear; for x in 漢 字; do\rprintf $x\rdone; echo\r")
			x.sees(t, "a loop", "漢字\n"+wrapped(atPrompt+"|", width))
			x.types(t, ctrlL+"\x1b[A")
			x.sees(t, "its line", wrapped(atPrompt+"clear; for x in 漢 字; do printf $x; done; echo|", width))
			x.types(t, ctrlC+ctrlL+"new\x12in 漢")
			x.sees(t, "a search", wrapped("(reverse-i-search)`in 漢': clear; for x |in 漢 字; do printf $x; done; echo", width))
			x.types(t, "\x12")
			x.sees(t, "nothing older", wrapped("(failed reverse-i-search)`in 漢': clear; for x |in 漢 字; do printf $x; done; echo", width))
			x.types(t, "\x07")
			x.sees(t, "its end", wrapped(atPrompt+"new|", width))
			x.types(t, ctrlC)
			x.leave(t)
		})
	}
}

// TestResized: when the terminal is resized while a line is typed, the line is drawn anew,
// and what stood above it is still there.
func TestResized(t *testing.T) {
	x := startTerminalOf(t, unix.Winsize{Col: 80, Row: 12}, []string{"TERM=xterm"}, "shell", "--cpus", "1")
	x.shows(t, "# ")
	x.types(t, "clear; echo above; echo 漢\r"+"echo "+strings.Repeat("漢字", 15)+"\x02\x02")
	for _, width := range []int{80, 20, 40, 21, 100} {
		x.resized(t, width, 12)
		// A terminal wraps its lines by itself, so what is seen now need not be drawn by the
		// shell. What is typed shows that it has noticed: else the next size would come
		// while it draws for this one.
		for _, typed := range []string{"z", ""} {
			x.types(t, cmp.Or(typed, "\x7f"))
			x.sees(t, fmt.Sprint(width, " ", typed), "above\n漢\n"+wrapped(atPrompt+"echo "+strings.Repeat("漢字", 14)+typed+"|漢字", width))
		}
	}
	x.types(t, ctrlC)
	x.leave(t)
}

// TestWideNames: names of files that are wide are completed as far as they are certain, and
// listed in columns. What the shell would divide or expand is escaped, or left in quotes.
func TestWideNames(t *testing.T) {
	x := startTerminalOf(t, unix.Winsize{Col: 40, Row: 12}, []string{"TERM=xterm"}, "shell", "--cpus", "1")
	x.shows(t, "# ")
	x.types(t, "cd /tmp; touch 漢字一 漢字二 漢字\u8a9e 'a b$c'\r")
	x.shows(t, "/tmp # ")
	for _, c := range []struct{ typed, want string }{
		{"cat 漢\t", "/tmp # cat 漢字|"},
		{"cat 漢\t\t", "/tmp # cat 漢字\n漢字一  漢字二  漢字語\n/tmp # cat 漢字|"},
		{"cat '漢\t一", "/tmp # cat '漢字一|"},
		{"cat a\t", "/tmp # cat a\\ b\\$c |"},
		{"cat a\\ \t", "/tmp # cat a\\ b\\$c |"},
		{"cat 'a\t", "/tmp # cat 'a b$c|"},
		{"cat \"a \t", "/tmp # cat \"a b\\$c|"},
		{"cd /sys/kernel/tracing/op\t", "/tmp # cd /sys/kernel/tracing/options/|"},
		{"x=1; echo $PW\t", "/tmp # x=1; echo $PWD |"},
		{"if slee\t", "/tmp # if sleep |"},
		{"while slee\t", "/tmp # while sleep |"},
	} {
		x.types(t, ctrlL+c.typed)
		x.sees(t, fmt.Sprintf("%q", c.typed), c.want)
		x.types(t, ctrlC)
		x.shows(t, "^C\r\n")
	}
	x.leave(t)
}
