package tracer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/machine/qos"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
)

// asker is a program that uses /dev/cpu_dma_latency.
type asker struct {
	t    *testing.T
	ctx  context.Context
	file *tracefile.File
}

func (a asker) open(flags tracefile.Flags) tracefile.Handle {
	a.t.Helper()
	h, err := a.file.Open(a.ctx, flags)
	if err != nil {
		a.t.Fatal(err)
	}
	return h
}

func (a asker) read(h tracefile.Handle, size int) string {
	p := make([]byte, size)
	n, err := h.Read(a.ctx, p)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && n == qos.Size {
		return fmt.Sprint(qos.Value([qos.Size]byte(p)))
	}
	return fmt.Sprint(n, " ", int(tracefile.Errno(err)))
}

func (a asker) write(h tracefile.Handle, text string) string {
	n, err := h.Write(a.ctx, []byte(text))
	return fmt.Sprint(n, " ", int(tracefile.Errno(err)))
}

// A real 6.12.117 answered these calls so: a value, or how many bytes and which errno.
func TestCPUDMALatencyLikeKernel(t *testing.T) {
	l := newLab(t, tracer.Config{})
	a := asker{t, context.Background(), l.ft.CPUDMALatency()}
	both := tracefile.Read | tracefile.Write
	got := func(what string) func(string) {
		return func(want string) {
			t.Helper()
			if what != want {
				t.Errorf("%s, a kernel says %s", what, want)
			}
		}
	}
	first := a.open(both)
	got(a.read(first, 4))("2000000000")
	got(a.read(first, 4))("0 0")
	got(a.write(first, "d\x00\x00\x00"))("4 0")
	got(a.read(first, 4))("0 0")
	second := a.open(both)
	got(a.write(second, "\x00\x00\x00\x00"))("4 0")
	got(a.read(first, 4))("0 0")
	got(a.read(second, 4))("0")
	got(a.write(first, "0x20"))("4 0")
	got(a.write(first, "20\n"))("3 0")
	got(a.read(second, 4))("0 0")
	got(a.write(first, "xyz\n"))("4 0")
	got(a.write(first, "xyzw\n"))("0 22")
	got(a.write(first, ""))("0 22")
	got(a.write(first, strings.Repeat("1", 40)))("0 34")
	got(a.write(first, "1234567890123"))("0 34")
	got(a.write(first, "-5\n"))("3 0")
	second.Close()
	third := a.open(tracefile.Read)
	got(a.read(third, 4))("175798648")
	got(a.write(third, "1"))("0 9")
	third.Close()
	third = a.open(tracefile.Write)
	got(a.read(third, 4))("0 9")
	third.Close()
	// The real program did not read a part, nor write behind the first zero and more than fits.
	third = a.open(both)
	got(a.read(third, 3))("3 0")
	got(a.read(third, 3))("1 0")
	got(a.write(third, "7\x00more"))("6 0")
	got(a.write(third, "+80000000"))("0 34")
	got(a.write(third, "7fffffff\n"))("9 0")
	got(a.write(third, strings.Repeat("0", 33)+"5x"))("35 0")
	third.Close()
	first.Close()
	first = a.open(tracefile.Read)
	got(a.read(first, 4))("2000000000")
	first.Close()
}

// The events have the caller's CPU and name, and the stack of the call.
func TestLatencyLimitStacks(t *testing.T) {
	l := newLab(t, tracer.Config{})
	for _, name := range []string{"add_request", "update_request", "remove_request", "update_target"} {
		l.write("events/power/pm_qos_"+name+"/enable", "1")
	}
	l.write("options/stacktrace", "1")
	tasks := l.m.Tasks()
	task := tasks[slices.IndexFunc(tasks, func(t *machine.Task) bool { return t.PID != 0 })]
	caller := func() tracefile.Caller { return tracefile.Caller{PID: task.PID, CPU: 1} }
	a := asker{t, tracefile.WithCaller(context.Background(), caller), l.ft.CPUDMALatency()}
	h := a.open(tracefile.Write)
	a.write(h, "\x09\x00\x00\x00")
	a.write(h, "\x09\x00\x00\x00")
	if err := errors.Join(h.Flush(), h.Close()); err != nil {
		t.Fatal(err)
	}
	const (
		request = "trace_event_raw_event_cpu_latency_qos_request "
		target  = "trace_event_raw_event_pm_qos_update pm_qos_update_target "
		call    = " do_syscall_64 entry_SYSCALL_64_after_hwframe"
		opening = "cpu_latency_qos_add_request cpu_latency_qos_open misc_open chrdev_open do_dentry_open vfs_open path_openat do_filp_open " +
			"do_sys_openat2 __x64_sys_openat" + call
		writing = "cpu_latency_qos_update_request cpu_latency_qos_write vfs_write ksys_write" + call
		closing = "cpu_latency_qos_remove_request cpu_latency_qos_release __fput __x64_sys_close" + call
	)
	want := []string{
		"pm_qos_add_request: CPU_DMA_LATENCY value=-1", request + opening,
		"pm_qos_update_target: action=ADD_REQ prev_value=2000000000 curr_value=2000000000", target + opening,
		"pm_qos_update_request: CPU_DMA_LATENCY value=9", request + writing,
		"pm_qos_update_target: action=UPDATE_REQ prev_value=2000000000 curr_value=9", target + writing,
		"pm_qos_update_request: CPU_DMA_LATENCY value=9", request + writing,
		"pm_qos_remove_request: CPU_DMA_LATENCY value=-1", request + closing,
		"pm_qos_update_target: action=REMOVE_REQ prev_value=9 curr_value=2000000000", target + closing,
	}
	var got, stack []string
	flush := func() {
		if stack != nil {
			got, stack = append(got, strings.Join(stack, " ")), nil
		}
	}
	head := fmt.Sprintf("%s-%d", task.Comm, task.PID)
	for _, line := range body(l.read("trace")) {
		if frame, ok := strings.CutPrefix(line, " => "); ok {
			stack = append(stack, frame)
			continue
		}
		flush()
		if !strings.HasPrefix(strings.TrimLeft(line, " "), head) || !strings.Contains(line, "[001] .....") {
			t.Errorf("%q is not of %s on CPU 1", line, head)
		}
		if _, event, _ := strings.Cut(line, ": "); event != "<stack trace>" {
			got = append(got, event)
		}
	}
	flush()
	if !slices.Equal(got, want) {
		t.Errorf("the trace has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	l.write("options/sym-offset", "1")
	text := l.read("trace")
	for _, site := range []string{
		"pm_qos_update_target+0x13b/", "cpu_latency_qos_add_request+0xa4/", "cpu_latency_qos_add_request+0x46/", "cpu_latency_qos_open+0x39/",
		"misc_open+0xa8/", "chrdev_open+0xbc/", "do_dentry_open+0x16f/", "__x64_sys_openat+0x6e/", "cpu_latency_qos_update_request+0xa0/",
		"cpu_latency_qos_write+0x59/", "cpu_latency_qos_release+0x1e/", "__x64_sys_close+0x3c/",
	} {
		if !strings.Contains(text, " => "+site) {
			t.Errorf("no stack has %s, where the kernel's code returns to", site)
		}
	}
}
