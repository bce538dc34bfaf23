package grep

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ftracelab/internal/userland/tool"
)

// files is a world of files that can only be read.
type files struct{ fstest.MapFS }

func (w files) Open(_ context.Context, name string) (io.ReadCloser, error) { return w.MapFS.Open(name) }
func (w files) Room() int                                                  { return 1 << 10 }

func (w files) Create(context.Context, string, bool) (io.WriteCloser, error) {
	return nil, fs.ErrPermission
}

// run runs grep and returns its status, what it printed and what it complained of.
func run(w files, stdin string, args ...string) (int, string, string) {
	var out, complaint strings.Builder
	c := &tool.Call{
		Ctx: context.Background(), World: w, Name: "grep", Args: args,
		Stdin: strings.NewReader(stdin), Stdout: &tool.Output{W: &out}, Stderr: &complaint,
	}
	return Grep(c), out.String(), complaint.String()
}

func TestGrep(t *testing.T) {
	w := files{fstest.MapFS{
		"events/sched": {Data: []byte("sched_switch\nsched_waking\n")},
		"events/irq":   {Data: []byte("irq_handler_entry\n")},
	}}
	for _, c := range []struct {
		args, stdin string
		status      int
		out         string
	}{
		{"sched_ events/sched", "", 0, "sched_switch\nsched_waking\n"},
		{"-c sched_ events/sched events/irq", "", 0, "events/sched:2\nevents/irq:0\n"},
		{"-rl entry events", "", 0, "events/irq\n"},
		{"-v a", "a\nb\n", 0, "b\n"},
		{"-q a", "b\n", 1, ""},
		{"-w -n b -A 1", "ab\nb\nc\n", 0, "2:b\n3-c\n"},
		{"-E -o s(ched|witch)", "sched_switch\n", 0, "sched\nswitch\n"},
		{"a absent", "", 2, ""},
		{"-P a", "a\n", 2, ""},
	} {
		status, out, complaint := run(w, c.stdin, strings.Fields(c.args)...)
		if status != c.status || out != c.out || (status == 2) != (complaint != "") {
			t.Errorf("grep %s: status %d, %q, complaint %q; want %d, %q", c.args, status, out, complaint, c.status, c.out)
		}
	}
}

// Lines kept for -B are counted, and grep ends when they take more than its room.
func TestRoom(t *testing.T) {
	line := strings.Repeat("x", 100)
	status, _, complaint := run(files{}, strings.Join(slices.Repeat([]string{line}, 100), "\n"), "-B", "99", "y")
	if status != 2 || complaint != "grep: memory exhausted\n" {
		t.Errorf("status %d, complaint %q", status, complaint)
	}
}
