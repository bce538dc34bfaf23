package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"ftracelab/internal/testutil"
)

// makeSeeds makes the captures that are mutated, all of them small.
func (m *mutants) makeSeeds() {
	t := m.t
	m.folder = simulated(t)
	must(t, "estimate", m.folder) // what is cut from it is not missed
	entries, err := os.ReadDir(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		m.files = append(m.files, e.Name())
		m.seeds["folder/"+e.Name()] = content(t, filepath.Join(m.folder, e.Name()))
	}
	m.files = append(m.files, "cpu0.raw", "cpu1.raw", "cpu0.raw") // more often than the others
	m.names = []string{"ftrace", "perf", "folded"}
	m.seeds["ftrace"] = []byte(must(t, "report", m.folder))
	m.seeds["perf"] = []byte(perfSeed)
	m.seeds["folded"] = []byte("swapper;start_kernel_[k];rest_init_[k] 12\nbash;main;read;entry_SYSCALL_64_[k];vfs_read_[k] 3\nbash;main;[unknown] 1\n")

	for _, form := range []struct{ name, flags string }{
		{"v6.dat", "--file-version 6"}, {"plain7.dat", "--compression none"}, {"zlib7.dat", "--compression zlib"}, {"zstd7.dat", "--compression zstd"},
	} {
		path := filepath.Join(m.dir, form.name)
		must(t, append(append([]string{"convert"}, strings.Fields(form.flags)...), m.folder, path)...)
		m.dats = append(m.dats, form.name)
		m.seeds[form.name] = content(t, path)
	}
	path := filepath.Join(m.dir, "instance.dat")
	must(t, "run", "--cpus", "1", "--duration", "5ms", "--instance", "foo", "--set", "set_event=sched", "--set", "instances/foo/set_event=irq", "--out", path)
	m.dats = append(m.dats, "instance.dat")
	m.seeds["instance.dat"] = content(t, path)

	for _, value := range values {
		must(t, "run", "--cpus", "1", "--duration", "0s", "--set", value)
	}
	for _, script := range scripts {
		must(t, "shell", "--cpus", "1", "-c", script)
	}
	for _, name := range []string{"le.bin", "be.bin"} {
		m.seeds[name] = content(t, "../../stackmap/testdata/dump/"+name)
	}
	m.seeds["vmlinux"] = testutil.Gunzip(t, "../../stackmap/testdata/dump/vmlinux.gz")
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compressed is data in gzip or zstd.
func compressed(t *testing.T, rng *rand.Rand, data []byte) []byte {
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	if rng.IntN(2) == 0 {
		var err error
		if z, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// perfSeed is the text of perf script.
const perfSeed = `# captured on: Mon Jan  1 00:00:00 2024
# cmdline : /usr/bin/perf record -g -a sleep 1
bash  1234/1235  [001]   100.000001:      10101 cycles:ppp:
	ffffffff81000010 entry_SYSCALL_64_after_hwframe+0x6 ([kernel.kallsyms])
	ffffffff81200030 vfs_read+0x10 ([kernel.kallsyms])
	    7f0000001000 __GI___libc_read+0x1d (/usr/lib/x86_64-linux-gnu/libc.so.6)
	    55d0c0001000 main+0x22 (/usr/bin/bash)

Web Content  2000 [003]   100.000500: sched:sched_switch: prev_comm=Web Content prev_pid=2000 prev_prio=120 prev_state=S ==> next_comm=bash next_pid=1234 next_prio=120
	ffffffff81800010 __schedule+0x2b0 ([kernel.kallsyms])
	ffffffff81800020 schedule+0x60 ([kernel.kallsyms])

bash  1234/1235  [001]   100.000901:      10101 cycles:ppp:
	ffffffff81000010 entry_SYSCALL_64_after_hwframe+0x6 ([kernel.kallsyms])
	        deadbeef [unknown] ([unknown])

`

// scripts are for the shell.
var scripts = []string{
	"echo function > current_tracer; sleep .001; head -5 trace\necho nop > current_tracer; cat trace_options | grep -c stack\n",
	"echo 1 > options/stacktrace; echo sched:sched_switch > set_event\nsleep .002; tail -20 trace | awk '{ n[$1]++ } END { for (k in n) print k, n[k] }' | sort -rn | head -3\n",
	"echo 'hist:keys=next_comm:sort=hitcount.descending:size=256' > events/sched/sched_switch/trigger; sleep .002; cat events/sched/sched_switch/hist\n",
	"echo 'p:my do_sys_open file=+0($arg2):string mode=%cx:x16' > dynamic_events && echo 1 > events/kprobes/my/enable; sleep .001; cat trace | sed -n '/my/s/.*(\\(.*\\)).*/\\1/p'\n",
	"mkdir instances/a; cd instances/a; for e in sched irq; do echo 1 > events/$e/enable; done; sleep .001; dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 count=1 | wc -c; cd ../..; rmdir instances/a\n",
	"f() { local x=$1; case $x in a*) echo ${x#a} ;; *) printf '%5d|%-8s\\n' \"$x\" y ;; esac; }; f abc; f 12; test -e trace && [ \"$(cat tracing_on)\" = 1 ] || exit 3\n",
	"echo 'wake s32 pid; u64 lat' >> synthetic_events; find events/synthetic -name format | xargs cat; cat <<E > /tmp/x\na b c\nE\ncut -d' ' -f2 /tmp/x; tr a-z A-Z < /tmp/x; expr 1 + 2; seq 3 | sort -n | uniq -c\n",
	"echo 'prev_pid > 0 && next_comm ~ \"b*\"' > events/sched/sched_switch/filter; echo '!vfs_*' > set_ftrace_filter; cat error_log; echo 'vfs_read:traceoff:5' > set_ftrace_filter; cat set_ftrace_filter\n",
}

// values are for files of the tracefs.
var values = []string{
	"current_tracer=function_graph", "set_event=sched:* irq:*", "set_ftrace_filter=vfs_* :mod:ext4", "set_graph_function=do_sys*", "buffer_size_kb=64", "buffer_subbuf_size_kb=8",
	"trace_clock=mono", "tracing_cpumask=1", "set_event_pid=1 2 3", "trace_options=noirq-info", "options/stacktrace=1", "options/stackmap=1", "trace_marker=hello",
	"events/sched/sched_switch/filter=prev_pid > 0 && next_comm ~ \"b*\"", "events/sched/sched_switch/trigger=hist:keys=next_pid,stacktrace:vals=prev_prio:sort=hitcount:size=256 if prev_pid != 0",
	"events/sched/sched_waking/trigger=hist:keys=pid:ts0=common_timestamp.usecs", "dynamic_events=p:kprobes/my vfs_read+4 fd=%di name=+0(+8($arg1)):string",
	"dynamic_events=f:read vfs_read file count", "dynamic_events=e:ep sched.sched_switch pid=$next_pid:s32", "kprobe_events=r8:ret vfs_read $retval",
	"synthetic_events=wake s32 pid; u64 lat; char comm[16]", "set_ftrace_notrace=*rcu*", "trace_marker_raw=abcdefgh", "saved_cmdlines_size=128", "tracing_thresh=100",
	"max_graph_depth=3", "per_cpu/cpu0/buffer_size_kb=128", "osnoise/cpus=0", "events/enable=1", "buffer_percent=50",
}
