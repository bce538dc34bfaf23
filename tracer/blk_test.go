package tracer_test

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// diskLab is a lab with a disk.
type diskLab struct {
	*lab
	sysfs *tracefsfs.FS // of the disk's folder trace
}

func newDiskLab(t *testing.T) *diskLab {
	t.Helper()
	l := newLabOn(t, machine.Config{CPUs: 2}, tracer.Config{})
	if err := workload.Modprobe(l.ft, "virtio_blk", nil); err != nil {
		t.Fatal(err)
	}
	var nodes []tracefile.Node
	for _, f := range l.ft.BlockFiles(workload.DiskSectors) {
		nodes = append(nodes, f)
	}
	return &diskLab{l, tracefsfs.New(&tracefile.Dir{Children: func() []tracefile.Node { return nodes }})}
}

// set is echo TEXT > /sys/block/vda/trace/NAME.
func (l *diskLab) set(name, text string) error {
	if err := tracefsfs.WriteFile(l.sysfs, name, text+"\n"); err != nil {
		return tracefile.Errno(err)
	}
	return nil
}

func (l *diskLab) wantSysfs(name, text string) {
	l.t.Helper()
	if got, err := l.sysfs.ReadFile(name); err != nil || string(got) != text {
		l.t.Errorf("%s reads %q, %v, want %q", name, got, err, text)
	}
}

// copies reads pages of the disk from its beginning, and then writes some there.
func (l *diskLab) copies(read, written int) {
	l.t.Helper()
	for write, pages := range []int{read, written} {
		f, err := workload.OpenDisk(l.ft, "dd")
		if err != nil {
			l.t.Fatal(err)
		}
		op := f.Read
		if write == 1 {
			op = f.Write
		}
		if got, err := op(4096 * pages); got != 4096*pages || err != nil {
			l.t.Fatalf("%d bytes, %v", got, err)
		}
		if err := f.Close(); err != nil {
			l.t.Fatal(err)
		}
	}
}

// actions are the lines of a trace behind the times; those of completed requests, which
// come when they come, are apart.
func actions(trace string) (submitted, completed []string) {
	for line := range strings.Lines(trace) {
		if _, action, ok := strings.Cut(line, ": 254,0 "); ok && strings.Contains(action, " C ") {
			completed = append(completed, action)
		} else if ok {
			submitted = append(submitted, action)
		}
	}
	return submitted, completed
}

// What dd does to the disk is traced as on a real kernel: the same actions on the same
// sectors.
func TestBlkLikeTheOracle(t *testing.T) {
	l := newDiskLab(t)
	l.write("current_tracer", "blk")
	if err := l.set("enable", "1"); err != nil {
		t.Fatal(err)
	}
	l.copies(40, 40)
	trace := l.read("trace")
	for _, kernel := range []string{"debian", "full"} {
		submitted, completed := actions(trace)
		wantSubmitted, wantCompleted := actions(oracle(t, kernel+"/blk/blk_blk/trace.txt"))
		if diff := cmp.Diff(wantSubmitted, submitted); diff != "" {
			t.Errorf("%s: submitted (-want +got):\n%s", kernel, diff)
		}
		slices.Sort(completed)
		slices.Sort(wantCompleted)
		if diff := cmp.Diff(wantCompleted, completed); diff != "" {
			t.Errorf("%s: completed (-want +got):\n%s", kernel, diff)
		}
	}
	// Times stand behind the flags: those of who submits, and of the interrupt.
	flags := regexp.MustCompile(`(?m)^ +(dd|<idle>|[\w/.-]+)-\d+ +\[00[01]\] (d\.\.1\.|d.h[234]\.) +\d+\.\d{6}: 254,0 `)
	lines := strings.Count(trace, "254,0")
	if n := len(flags.FindAllString(trace, -1)); n != lines || lines != 114 {
		t.Errorf("%d of %d lines have the context of the kernel's:\n%s", n, lines, trace)
	}
}

// Without the tracer, or without the device's switch, nothing is recorded.
func TestBlkNeedsBoth(t *testing.T) {
	l := newDiskLab(t)
	if err := l.set("enable", "1"); err != nil {
		t.Fatal(err)
	}
	l.copies(1, 0)
	if n := strings.Count(l.read("trace"), "254,0"); n != 0 {
		t.Errorf("nop: %d lines", n)
	}
	l.write("current_tracer", "blk")
	if err := l.set("enable", "0"); err != nil {
		t.Fatal(err)
	}
	l.copies(1, 0)
	l.want("trace", "# tracer: blk\n#\n")
}

// The files of the folder trace, and what they let through.
func TestBlkFilters(t *testing.T) {
	l := newDiskLab(t)
	l.write("current_tracer", "blk")
	for _, name := range []string{"act_mask", "pid", "start_lba", "end_lba"} {
		l.wantSysfs(name, "disabled\n")
	}
	if err := l.set("act_mask", "Issue,COMPLETE,"); err != nil { // which switches it on
		t.Fatal(err)
	}
	l.wantSysfs("enable", "1\n")
	l.wantSysfs("act_mask", "issue,complete\n")
	l.wantSysfs("pid", "0\n")
	l.wantSysfs("start_lba", "0\n")
	l.wantSysfs("end_lba", "131072\n")
	l.copies(2, 0)
	trace := l.read("trace")
	if submitted, completed := actions(trace); len(submitted) != 2 || len(completed) != 2 {
		t.Errorf("%s", trace)
	}
	for name, text := range map[string]string{"enable": "x", "pid": "-1", "act_mask": "issue,nothing", "end_lba": "99999999999999999999"} {
		if err := l.set(name, text); err != syscall.EINVAL {
			t.Errorf("%s > %s: %v", text, name, err)
		}
	}

	l.write("trace", "")
	for _, row := range [][2]string{{"act_mask", "issue\x00"}, {"act_mask", "0xffff\x00x"}, {"start_lba", "64"}, {"end_lba", "100"}} {
		if err := l.set(row[0], row[1]); err != nil {
			t.Fatal(err)
		}
	}
	l.wantSysfs("act_mask", "read,write,flush,sync,queue,requeue,issue,complete,fs,pc,notify,ahead,meta,discard,drv_data,fua\n")
	l.copies(20, 0)
	submitted, _ := actions(l.read("trace"))
	var queued []string
	for _, line := range submitted {
		if strings.Contains(line, " Q ") {
			queued = append(queued, line)
		}
	}
	// The first sector is in no range, but no range excludes it.
	if want := []string{"   Q  RA 0 + 32 [dd]\n", "   Q  RA 96 + 128 [dd]\n"}; !slices.Equal(queued, want) {
		t.Errorf("queued %q, want %q", queued, want)
	}

	l.write("trace", "")
	if err := l.set("pid", "1"); err != nil {
		t.Fatal(err)
	}
	l.copies(1, 0)
	l.want("trace", "# tracer: blk\n#\n")
}

// A device that goes takes its trace along.
func TestBlkDeviceGoes(t *testing.T) {
	l := newDiskLab(t)
	if err := l.set("pid", "7"); err != nil {
		t.Fatal(err)
	}
	if err := workload.Rmmod(l.ft, "virtio_blk"); err != nil {
		t.Fatal(err)
	}
	if err := workload.Modprobe(l.ft, "virtio_blk", nil); err != nil {
		t.Fatal(err)
	}
	l.wantSysfs("enable", "0\n")
	l.wantSysfs("pid", "disabled\n")
}

// The options of the tracer.
func TestBlkOptions(t *testing.T) {
	l := newDiskLab(t)
	l.write("current_tracer", "blk")
	if options := l.read("trace_options"); !strings.HasSuffix(options, "\nnoblk_classic\nnoblk_cgroup\nnoblk_cgname\n") {
		t.Errorf("%s", options)
	}
	if err := l.set("enable", "1"); err != nil {
		t.Fatal(err)
	}
	l.write("trace_options", "blk_cgroup")
	l.copies(1, 0)
	first := func() string {
		submitted, _ := actions(l.read("trace"))
		return submitted[0]
	}
	if got, want := first(), "  1,0  Q  RA 0 + 32 [dd]\n"; got != want {
		t.Errorf("blk_cgroup: %q, want %q", got, want)
	}
	if submitted, _ := actions(l.read("trace")); !slices.Contains(submitted, "   U   N [dd] 1\n") {
		t.Errorf("an unplug has a cgroup: %q", submitted)
	}
	l.write("trace_options", "blk_cgname")
	if got, want := first(), "  /  Q  RA 0 + 32 [dd]\n"; got != want {
		t.Errorf("blk_cgname: %q, want %q", got, want)
	}
	l.write("trace_options", "blk_classic")
	if options := l.read("trace_options"); !strings.Contains(options, "\nnocontext-info\n") {
		t.Errorf("blk_classic leaves context-info on: %s", options)
	}
	classic := regexp.MustCompile(`^# tracer: blk\n#\n# DEV   CPU TIMESTAMP     PID ACT FLG\n#  \|     \|     \|           \|   \|   \|\n254,0    [01]     \d\.\d{9} +\d+  Q  RA 0 \+ 32 \[dd\]\n`)
	if trace := l.read("trace"); !classic.MatchString(trace) {
		t.Errorf("blk_classic:\n%s", trace)
	}
	l.write("trace_options", "noblk_classic")
	if options := l.read("trace_options"); !strings.Contains(options, "\ncontext-info\n") {
		t.Errorf("noblk_classic leaves context-info off: %s", options)
	}
}

func TestBlkDoesNotAllocate(t *testing.T) {
	l := newDiskLab(t)
	l.write("current_tracer", "blk")
	if err := l.set("enable", "1"); err != nil {
		t.Fatal(err)
	}
	l.write("trace_options", "blk_cgroup")
	r := &machine.Request{Dev: workload.DiskMajor << 20, Op: machine.ReqWrite, Bytes: 4096, Bio: 4096}
	for _, id := range []machine.Event{machine.EvBlockBioQueue, machine.EvBlockUnplug, machine.EvBlockRqComplete} {
		tp := &machine.Block{ID: id, Request: r, Bytes: 4096, Depth: 1}
		if n := testing.AllocsPerRun(1000, func() { l.m.Hooks.Trace(l.m.CPUs()[0], tp) }); n != 0 {
			t.Errorf("%s: %v allocations", tp.Event().TracepointName(), n)
		}
	}
	if n := strings.Count(l.read("trace"), "254,0"); n < 3000 {
		t.Errorf("%d records", n)
	}
}
