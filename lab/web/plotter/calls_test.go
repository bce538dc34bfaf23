package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/lab/timeline"
	"ftracelab/lab/web/answer"
)

// TestCalls opens a trace.dat with an instance, and asks each question about it.
func TestCalls(t *testing.T) {
	calls := new(plots).calls()
	for name, n := range map[string]int{"more": 1, "columns": 1, "rows": 2, "search": 4, "filter": 3, "periods": 1} {
		if _, err := calls[name](make([]string, n)); err == nil || err.Error() != "no trace.dat is open" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := calls[name](make([]string, n+1)); err == nil || !strings.Contains(err.Error(), "arguments") {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(t.TempDir(), "x.dat")
	run := exec.Command("go", "run", "ftracelab/cmd/ftracelab", "run", "mix", "--out", file, "--duration", "50ms", "--instance", "inst",
		"--set", "set_event=sched", "--set", "instances/inst/set_event=irq")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ask := func(name string, args ...string) any {
		t.Helper()
		v, err := calls[name](args)
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for buffer, system := range map[string]string{"-1": "", "0": "sched/", "1": "irq/"} {
		in := ask("timeline", file, buffer, "10").(timeline.Info)
		if in.Events != 10 || in.Done {
			t.Errorf("buffer %s: %d events of 10 are read, and all is done: %v", buffer, in.Events, in.Done)
		}
		for more := in; !more.Done; in = more {
			more = ask("more", "100").(timeline.Info)
		}
		if len(in.Buffers) != 2 || in.Buffers[1].Name != "inst" || in.Clock != "local" {
			t.Errorf("buffer %s: %+v, clock %q", buffer, in.Buffers, in.Clock)
		}
		for _, k := range in.Kinds {
			if !strings.HasPrefix(k.Name, system) {
				t.Errorf("buffer %s has events of %s", buffer, k.Name)
			}
		}
		if got := len(ask("columns", "1").(answer.Bytes)); got != 18*(in.Events-1) {
			t.Errorf("%d bytes of columns for %d events", got, in.Events)
		}
		rows := ask("rows", "1", "2").([]timeline.Row)
		if len(rows) != 2 || rows[0].Index != 1 {
			t.Errorf("%+v", rows)
		}
		if at := ask("search", rows[1].Event, "2", "false", "{}").(int); at != 2 {
			t.Errorf("%s is found at %d", rows[1].Event, at)
		}
		if kept := ask("filter", `{"cpus": [999]}`, "0", "999999").(answer.Bytes); len(kept) != 0 {
			t.Errorf("a CPU that is not there has %d bytes of events", len(kept))
		}
		ask("periods", "1")
	}
	for _, bad := range [][]string{
		{"timeline", file, "2", "1"},
		{"timeline", file, "-2", "1"},
		{"timeline", file, "x", "1"},
		{"timeline", file, "0", "x"},
		{"timeline", file + "x", "-1", "1"},
		{"more", "x"},
		{"columns", "x"},
		{"rows", "a", "1"},
		{"search", "a", "b", "false", "{}"},
		{"search", "a", "1", "false", "{"},
		{"filter", "[", "0", "1"},
		{"filter", "{}", "x", "1"},
		{"periods", "99999999999"},
	} {
		if _, err := calls[bad[0]](bad[1:]); err == nil {
			t.Errorf("%q has an answer", bad)
		}
	}
	ask("rows", "0", "1") // the file that was open still is
}
