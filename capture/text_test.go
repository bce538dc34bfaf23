package capture

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ftracelab/tracer/record"

	"github.com/google/go-cmp/cmp"
)

// fromText opens text as if it came from standard input.
func fromText(t testing.TB, text string, opt Options) *Capture {
	t.Helper()
	c, err := OpenReader(strings.NewReader(text), "text", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// dump reads all records as lines.
func dump(t testing.TB, c *Capture) []string {
	t.Helper()
	var out []string
	var r record.Record
	for {
		if err := c.Next(&r); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("cpu%d %d pid=%d ", r.CPU, r.Time, r.Common.PID)
		switch r.Kind {
		case record.Event:
			s += fmt.Sprintf("flags=%#x preempt=%#x %s:%s %d", r.Common.Flags, r.Common.PreemptCount,
				r.Type.System, r.Type.Name, len(r.Data))
		case record.KernelStack, record.UserStack:
			s += [...]string{record.KernelStack: "kernel", record.UserStack: "user"}[r.Kind]
			for _, addr := range r.Stack {
				s += " " + c.Symbol(addr)
			}
		case record.Lost:
			s = fmt.Sprintf("cpu%d %d lost %d", r.CPU, r.Time, int64(r.Count))
		}
		out = append(out, s)
	}
}

func TestFtraceText(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"stacks": {`# tracer: nop
#
# entries-in-buffer/entries-written: 3/9   #P:2
#
            bash-235     [001] .....    26.449670: sched_thing: a=1 b=2
            bash-235     [001] dNh2.    26.455318: <stack trace>
 => alloc_inode+0x5e/0xc0
 => do_pipe2
 => do_syscall_64 <ffffffff81000130>
            bash-235     [001] .....    26.455319: <user stack trace>
 => /lib/x86_64-linux-gnu/libc.so.6[+0xd2aa7]
 =>  <00007ffc6426b4a8>
 => /usr/bin/bash[+0x689ee] <00005596036949ee>
 => ??
`, []string{
			"cpu1 26449670000 pid=235 flags=0x0 preempt=0x0 unknown:sched_thing 12",
			"cpu1 26455318000 pid=235 kernel alloc_inode+0x5e/0xc0 do_pipe2 do_syscall_64",
			"cpu1 26455319000 pid=235 user /lib/x86_64-linux-gnu/libc.so.6[+0xd2aa7] 0x7ffc6426b4a8 /usr/bin/bash[+0x689ee] ??",
		}},
		"comms": {`##### CPU 1 buffer started ####
 my comm [001] x-7       [001] d..2.    26.449670: f: x
     a-b-c-d-31      [000] b.s1.    26.449671: f: x
   kworker/u8:1-31      [000] D.H.2    26.449672: f: x
          <idle>-0       [000] dnz21    26.449673: f: x
          <...>-155     (-------) [000] .p...    13.080627: f: x
           bash-156     (    156) [002] ....    13.080628: f: x
`, []string{
			"cpu1 26449670000 pid=7 flags=0x1 preempt=0x2 unknown:f 9",
			"cpu0 26449671000 pid=31 flags=0x90 preempt=0x1 unknown:f 9",
			"cpu0 26449672000 pid=31 flags=0x99 preempt=0x20 unknown:f 9",
			"cpu0 26449673000 pid=0 flags=0x45 preempt=0x12 unknown:f 9",
			"cpu0 26449673000 pid=155 flags=0x20 preempt=0x0 unknown:f 9",
			"cpu2 13080628000 pid=156 flags=0x0 preempt=0x0 unknown:f 9",
		}},
		// These lines are of a real 6.12: a task without a name, and a string with a newline
		// that a probe read.
		"no name": {
			"                -4000034 (-------) [000] ...1.   165.521508: sys_prctl(option: f, arg2: 4a23f5, arg3: 0, arg4: 0, arg5: 0)\n",
			[]string{"cpu0 165521508000 pid=4000034 flags=0x0 preempt=0x1 syscalls:sys_enter_prctl 56"},
		},
		"newline in a string": {
			`             cat-192     [000] ...1.    32.401082: k_at: (vfs_read+0x4/0x370) arg2=0xfffef1e5 v="Linux version 6.12.117+deb12-amd64
" vv=(fault) l='L'
             cat-192     [000] ...1.    32.401148: k_btf: (vfs_read+0x4/0x370) count=832 d="libc.so.6"
`,
			[]string{
				"cpu0 32401082000 pid=192 flags=0x0 preempt=0x1 unknown:k_at 55",
				"cpu0 32401148000 pid=192 flags=0x0 preempt=0x1 unknown:k_btf 30",
			},
		},
		"no irq-info": {
			"   bash-155     [000]     13.080627: vfs_read <-ksys_read\n   bash-155     [000]     13.080628: vfs_read\n",
			[]string{
				"cpu0 13080627000 pid=155 flags=0x0 preempt=0x0 ftrace:function 24",
				"cpu0 13080628000 pid=155 flags=0x0 preempt=0x0 ftrace:function 24",
			},
		},
		"counter": {
			"   wl-658     [000] .....            6: vfs_readlink <-do_readlinkat\n",
			[]string{"cpu0 6 pid=658 flags=0x0 preempt=0x0 ftrace:function 24"},
		},
		"lost": {
			"CPU:1 [LOST 34 EVENTS]\n   wl-658     [001] .....     0.000006: a <-b\nCPU:1 [LOST EVENTS]\n   wl-658     [001] .....     0.000007: a <-b\n",
			[]string{
				"cpu1 0 lost 34",
				"cpu1 6000 pid=658 flags=0x0 preempt=0x0 ftrace:function 24",
				"cpu1 6000 lost -1",
				"cpu1 7000 pid=658 flags=0x0 preempt=0x0 ftrace:function 24",
			},
		},
		"markers": {
			"   wl-1     [000] .....     0.000006: tracing_mark_write: hi local\n   wl-1     [000] .....     0.000007: tracing_mark_write: two\n\nlines\n",
			[]string{
				"cpu0 6000 pid=1 flags=0x0 preempt=0x0 ftrace:print 26",
				"cpu0 7000 pid=1 flags=0x0 preempt=0x0 ftrace:print 28",
			},
		},
		"stack id": {
			"   wl-1     [000] .....     0.000006: <stack_id 5477>\n",
			[]string{"cpu0 6000 pid=1 flags=0x0 preempt=0x0 ftrace:stack_id 12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fromText(t, tt.text, Options{})
			if c.Info().Format != FormatFtrace {
				t.Errorf("detected as %s", c.Info().Format)
			}
			if diff := cmp.Diff(tt.want, dump(t, c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPerfForms(t *testing.T) {
	const frame = "\tffffffff817d8d3d ext4_search_dir+0xcd ([kernel.kallsyms])\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"default": {
			"go 21404  4747.513818:    2004008 cpu-clock: \n" + frame +
				"\tffffffffc0123456 ext4_foo+0x1 ([ext4])\n" +
				"\t           24a79 cmd.(*C[go.shape.struct { a int; b error }]).Do+0x122 (/usr/local/go/bin/go)\n" +
				"\tdd4a75d05b723149 [unknown] ([unknown])\n" +
				"\tffff8dd05b723149 [unknown] ([unknown])\n\n",
			[]string{
				"cpu0 4747513818000 pid=21404 flags=0x0 preempt=0x0 perf:cpu-clock 24",
				"cpu0 4747513818000 pid=21404 kernel ext4_search_dir+0xcd ext4_foo+0x1",
				"cpu0 4747513818000 pid=21404 user cmd.(*C[go.shape.struct { a int; b error }]).Do+0x122 0xdd4a75d05b723149 0xffff8dd05b723149",
			},
		},
		"cpu, pid/tid, modifiers": {
			"# captured on x\n#\nWeb Content 12/34 [003] 1.5: cycles:ppp: \n" + frame + "\nmy 4.5: x 1/2 [000] 2.000000001: 7 sched:sched_switch: prev_comm=a ==> b\n" + frame + "\n",
			[]string{
				"cpu3 1500000000 pid=34 flags=0x0 preempt=0x0 perf:cycles:ppp 24",
				"cpu3 1500000000 pid=34 kernel ext4_search_dir+0xcd",
				"cpu0 2000000001 pid=2 flags=0x0 preempt=0x0 perf:sched:sched_switch 24",
				"cpu0 2000000001 pid=2 kernel ext4_search_dir+0xcd",
			},
		},
		"one line": {
			"         swapper     0 [001]  1.000001:     1 cycles:  ffffffff8104f45a native_safe_halt+0x2 ([kernel.kallsyms])\n" +
				"            perf    10 [001]  1.000002:     1 cycles:      7f1234567890 main (/usr/bin/with blank (deleted))\n",
			[]string{
				"cpu1 1000001000 pid=0 flags=0x0 preempt=0x0 perf:cycles 24",
				"cpu1 1000001000 pid=0 kernel native_safe_halt+0x2",
				"cpu1 1000002000 pid=10 flags=0x0 preempt=0x0 perf:cycles 24",
				"cpu1 1000002000 pid=10 user main",
			},
		},
		"no frames, no dso, no offset, inlined": {
			"a 1 1.0: e: \n\na 1 1.1: e: \n\t    7f0000000001 main\n\t    7f0000000001 inner (inlined)\n\t    7f0000000002\n\n",
			[]string{
				"cpu0 1000000000 pid=1 flags=0x0 preempt=0x0 perf:e 24",
				"cpu0 1100000000 pid=1 flags=0x0 preempt=0x0 perf:e 24",
				"cpu0 1100000000 pid=1 user main 0x7f0000000002",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fromText(t, tt.text, Options{})
			if c.Info().Format != FormatPerf {
				t.Errorf("detected as %s", c.Info().Format)
			}
			if diff := cmp.Diff(tt.want, dump(t, c)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPerfSameAddressInTwoFiles: the same number in two files is not the same address.
func TestPerfSameAddressInTwoFiles(t *testing.T) {
	c := fromText(t, "a 1 1.0: e: \n\t 1000 f (/bin/a)\n\t 1000 f (/bin/b)\n\t 1000 f (/bin/a)\n\n", Options{})
	var r record.Record
	for c.Next(&r) == nil {
		if r.Kind == record.UserStack && (r.Stack[0] == r.Stack[1] || r.Stack[0] != r.Stack[2]) {
			t.Errorf("addresses %#x", r.Stack)
		}
	}
}

func TestFoldedText(t *testing.T) {
	c := fromText(t, "main;read file;vfs_read_[k];ext4_[k] 2\n\nmain;inl_[i];f 1\n", Options{})
	want := []string{
		"cpu0 0 pid=0 flags=0x0 preempt=0x0 folded:stack 24",
		"cpu0 0 pid=0 kernel ext4 vfs_read",
		"cpu0 0 pid=0 user read file main",
		"cpu0 0 pid=0 flags=0x0 preempt=0x0 folded:stack 24",
		"cpu0 0 pid=0 kernel ext4 vfs_read",
		"cpu0 0 pid=0 user read file main",
		"cpu0 0 pid=0 flags=0x0 preempt=0x0 folded:stack 24",
		"cpu0 0 pid=0 user f main",
	}
	if diff := cmp.Diff(want, dump(t, c)); diff != "" {
		t.Error(diff)
	}
	if c.Info().Timed {
		t.Error("folded stacks have times")
	}
}

// TestFoldedFrames: marks in the file, or Options.Frames, decide whether a frame is the
// kernel's. If neither does, the capture says what it assumed.
func TestFoldedFrames(t *testing.T) {
	const marked, plain = "a;b_[k] 1\nc;d 1\n", "a;b 1\nc;d 1\n"
	for _, c := range []struct {
		text, frames string
		want         []string
		guessed      bool
	}{
		{marked, "", []string{"kernel b", "user a", "user d c"}, false},
		{marked, FramesMixed, []string{"kernel b", "user a", "user d c"}, false},
		{marked, FramesUser, []string{"user b a", "user d c"}, false},
		{marked, FramesKernel, []string{"kernel b a", "kernel d c"}, false},
		{plain, "", []string{"kernel b a", "kernel d c"}, true},
		{plain, FramesKernel, []string{"kernel b a", "kernel d c"}, false},
		{plain, FramesUser, []string{"user b a", "user d c"}, false},
		{plain, FramesMixed, []string{"user b a", "user d c"}, false},
	} {
		in := fromText(t, c.text, Options{Format: FormatFolded, Frames: c.frames})
		var stacks []string
		for _, line := range dump(t, in) {
			if stack, ok := strings.CutPrefix(line, "cpu0 0 pid=0 "); ok && !strings.Contains(line, "folded:stack") {
				stacks = append(stacks, stack)
			}
		}
		if diff := cmp.Diff(c.want, stacks); diff != "" {
			t.Errorf("%q with frames %q: %s", c.text, c.frames, diff)
		}
		if (in.Condition() != "") != c.guessed {
			t.Errorf("%q with frames %q: the condition is %q", c.text, c.frames, in.Condition())
		}
	}
	for _, c := range []struct{ text, frames, want string }{
		{plain, "both", "kernel, user, mixed"},
		{"a 1 1.0: e: \n\t 1000 f (/bin/a)\n\n", FramesUser, "only of folded stacks"},
	} {
		if _, err := OpenReader(strings.NewReader(c.text), "text", Options{Frames: c.frames}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("frames %q: %v, want …%s…", c.frames, err, c.want)
		}
	}
}

func TestExample(t *testing.T) {
	c, err := OpenExample(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := count(t, c)
	// The capture may be cut between the last event of a CPU and its stack.
	if got.events != 12261 || got.kernel != 12259 {
		t.Errorf("%d events, %d stacks", got.events, got.kernel)
	}
	for _, s := range c.Info().Stats {
		pages, entries := countPages(t, c, s.CPU)
		if pages != 250 || entries != s.Entries || got.byCPU[s.CPU] != entries {
			t.Errorf("cpu %d: %d pages, %d entries, stats say %d", s.CPU, pages, entries, s.Entries)
		}
	}
	if c.Comm(235) != "bash" {
		t.Errorf("pid 235 is %q", c.Comm(235))
	}
	if c.Pages(7) != nil {
		t.Error("pages of a CPU that is not there")
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "is empty",
		"hello\n\nworld\n":              "no known form of capture",
		"\x17\x08\x44tracing6\x00":      "trace.dat",
		"PERFILE2xxxx":                  "perf script",
		"a b\x00c":                      "zero byte",
		"# tracer: function_graph\n#\n": "function_graph",
		" 1)   1.2 us    |  a();\n 1)   1.2 us    |  a();\n 1)   1.2 us    |  a();\n": "function_graph",
		"a 1 1.0: e: \nb-1   [000] .....    1.0: f: x\n":                              "the form is not clear",
	} {
		_, err := OpenReader(strings.NewReader(text), "text", Options{})
		var at *Error
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "text: ") {
			t.Errorf("%.30q: %v, want …%s…", text, err, want)
		}
	}
}

// TestUnreadForms: the texts of options that leave out what is needed, which a kernel printed.
func TestUnreadForms(t *testing.T) {
	for _, text := range []string{
		"# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.12.117+deb12-amd64\n#\n    bash-183       1..... 24508us#: sched_process_fork: comm=bash\n",
		"# tracer: nop\n#\n183 1 164993664193 type: 304\n",
		"# tracer: nop\n#\nsched_process_fork: comm=bash pid=183 child_comm=bash child_pid=4000001\n",
	} {
		c := fromText(t, text, Options{})
		var r record.Record
		if err := c.Next(&r); err == nil || !strings.Contains(err.Error(), "nocontext-info are not read") {
			t.Errorf("%q: %v", text, err)
		}
	}
	c := fromText(t, "   wl-1     [000] .....     0.000006: f: a\n          <idle>-0       (-------) [00", Options{})
	var cut record.Record
	if err := errors.Join(c.Next(&cut), c.Next(&cut)); err == nil || !strings.Contains(err.Error(), "the text ends inside a line") {
		t.Errorf("a cut line: %v", err)
	}
	c = fromText(t, "   wl-1     [000] .....     0.000006: f: a=\"1\"\nnothing\n", Options{})
	var r record.Record
	if err := errors.Join(c.Next(&r), c.Next(&r)); err == nil || strings.Contains(err.Error(), "not read") {
		t.Errorf("a line without a context behind an event: %v", err)
	}
}

// TestExampleSymbols looks up every frame of the example.
func TestExampleSymbols(t *testing.T) {
	c, err := OpenExample(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[uint64]bool{}
	var r record.Record
	for c.Next(&r) == nil {
		for _, addr := range r.Stack {
			if seen[addr] {
				continue
			}
			seen[addr] = true
			name, _, offset, size, ok := c.Lookup(addr)
			if !ok || name == "" || size == 0 || offset > size {
				t.Errorf("%#x: %s+%#x/%#x, %v", addr, name, offset, size, ok)
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d different frames", len(seen))
	}
}

// TestNextAllocates nothing for text whose names are known.
func TestNextAllocates(t *testing.T) {
	perf := strings.Repeat("a 1 [001] 1.0: e: \n\t 1000 f (/bin/a)\n\n", 4000)
	ftrace := strings.Repeat("   wl-1     [000] .....     0.000006: f: a=1\n   wl-1     [000] .....     0.000006: <stack trace>\n => a\n => b\n", 4000)
	folded := "a;b;c 5000\n"
	for name, text := range map[string]string{"perf": perf, "ftrace": ftrace, "folded": folded} {
		c := fromText(t, text, Options{})
		var r record.Record
		for range 100 {
			if err := c.Next(&r); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(2000, func() {
			if err := c.Next(&r); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for each record", name, n)
		}
	}
	c, err := OpenExample(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r record.Record
	if n := testing.AllocsPerRun(5000, func() {
		if err := c.Next(&r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("folder: %v allocations for each record", n)
	}
}

func TestCaveatsAreDeterministic(t *testing.T) {
	text := "   wl-1     [000] .....     0.000006: f: a=1\n   wl-1     [000] .....     0.000006: <stack trace>\n => a\n => b+0x1/0x2\n"
	first := fromText(t, text, Options{})
	dump(t, first)
	second := fromText(t, text, Options{})
	dump(t, second)
	if a, b := first.Caveats(), second.Caveats(); len(a) < 3 || !slices.Equal(a, b) {
		t.Errorf("%q\n%q", a, b)
	}
}
