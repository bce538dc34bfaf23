package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// stacksRun is a run of the simulated machine with a stack for each event.
var stacksRun = []string{"busy", "--duration", "1s", "--set", "set_event=kmem:* sched:*", "--set", "options/stacktrace=1", "--set", "buffer_size_kb=131072"}

// perfSamples is how many samples the text of perf script has: 84 MB.
const perfSamples = 100_000

// estimates are the rows of ftracelab estimate: what reading a capture and answering takes
// per line of its text, in CPU time, beside a program that only looks for a word in the
// text.
func (t *traces) estimates() []comparison {
	row := func(id, what string, make func() (text, capture string, err error)) comparison {
		c := comparison{id: id, what: what, peer: "grep -c of the text", rounds: processRounds}
		switch _, err := exec.LookPath("grep"); {
		case t.ftracelab == "":
			c.missing = "no ftracelab to run"
		case err != nil:
			c.missing = "grep is not installed"
		}
		lines, text := 0, ""
		c.ours = func() (runner, error) {
			name, capture, err := make()
			if err != nil {
				return nil, err
			}
			text = name
			lines, err = linesOf(name)
			return t.runner(&lines, t.ftracelab, "estimate", "--designs", "full-stacks,stackmap,no-stacks", capture), err
		}
		c.theirs = func() (runner, error) {
			return func(int) (time.Duration, int, error) {
				var count bytes.Buffer // with the null device, grep would stop at the first match
				took, err := t.run(&count, "grep", "-c", "cpu", text)
				return took, lines, err
			}, nil
		}
		return c
	}
	return []comparison{
		row("E1", "estimate of perf script", t.perfScript),
		row("E2", "estimate of ftrace text", func() (text, capture string, err error) {
			folder, err := t.stacksFolder()
			text = filepath.Join(folder, "trace.txt")
			return text, text, err
		}),
		row("E3", "estimate of raw pages", func() (text, capture string, err error) {
			folder, err := t.stacksFolder()
			return filepath.Join(folder, "trace.txt"), folder, err
		}),
	}
}

// stacksFolder makes a folder of raw pages, in which the trace is as text, too.
func (t *traces) stacksFolder() (string, error) {
	if err := t.makeDir(); err != nil {
		return "", err
	}
	folder := filepath.Join(t.dir, "stacks")
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	_, err := t.run(io.Discard, t.ftracelab, append([]string{"run", "--out", folder}, stacksRun...)...)
	return folder, err
}

// perfScript makes a text as perf script prints it.
func (t *traces) perfScript() (text, capture string, err error) {
	if err := t.makeDir(); err != nil {
		return "", "", err
	}
	name := filepath.Join(t.dir, "perf.txt")
	f, err := os.Create(name)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = f.Close() }() // Flush has told what there is to tell
	w := bufio.NewWriter(f)
	l := newLoad(16)
	for i, n := range l.order[:perfSamples] {
		fmt.Fprintf(w, "program %7d %5d.%06d:    1000000 cpu-clock: \n", 1000+i%8, 4000+i/1000, i%1000*1000)
		for _, ip := range l.stack(int(n)) {
			fmt.Fprintf(w, "\t%16x function_%x+0x12 ([kernel.kallsyms])\n", ip, ip>>8&0xffff)
		}
		_ = w.WriteByte('\n')
	}
	return name, name, w.Flush()
}

// linesOf counts the lines of a file.
func linesOf(name string) (int, error) {
	text, err := os.ReadFile(name)
	return bytes.Count(text, []byte("\n")), err
}
