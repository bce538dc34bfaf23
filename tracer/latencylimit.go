package tracer

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"ftracelab/machine/qos"
	"ftracelab/tracefsfs/tracefile"
)

// CPUDMALatency is /dev/cpu_dma_latency: as long as it is open, the latency of idle CPUs is
// to be what was written. A read gives what it is to be for all who have the file open.
//
// Departure: no CPU heeds it, as on a computer without idle states, and a change of the
// target wakes no idle CPU. Function tracers do not see the functions of the file. The
// reader's position is its own: pread(2) reads there, and lseek(2), which changes nothing,
// returns another number. A write of nothing succeeds in place of EINVAL. What happens
// when the file is closed is recorded for the process that has opened it, on the CPU where
// it did, and in close(2) if the process ends, too.
//
// Kernel: cpu_latency_qos_fops, kernel/power/qos.c.
func (ft *Ftrace) CPUDMALatency() *tracefile.File {
	return &tracefile.File{
		Name: "cpu_dma_latency", Mode: 0o600,
		Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
			ft.mu.Lock()
			defer ft.mu.Unlock()
			h := &latencyLimit{ft: ft, flags: flags, by: ft.writerOf(ctx)}
			var c qos.Change
			h.request, c = ft.latencyLimit.Add()
			ft.limitChanged(h.by, c, []string{
				"cpu_latency_qos_add_request", "cpu_latency_qos_open", "misc_open", "chrdev_open", "do_dentry_open", "vfs_open", "path_openat",
				"do_filp_open", "do_sys_openat2", "__x64_sys_openat",
			})
			return h, nil
		},
		Traits: tracefile.Traits{OwnPosition: true, Holds: func() bool { return true }},
	}
}

// latencyLimit is an open /dev/cpu_dma_latency.
type latencyLimit struct {
	ft      *Ftrace
	flags   tracefile.Flags
	by      writer // who has opened it
	request *qos.Request
	pos     int // of the next read
}

// Kernel: cpu_latency_qos_read.
func (h *latencyLimit) Read(_ context.Context, p []byte) (int, error) {
	if h.flags&tracefile.Read == 0 {
		return 0, syscall.EBADF
	}
	h.ft.mu.Lock()
	defer h.ft.mu.Unlock()
	value := qos.AppendValue(nil, h.ft.latencyLimit.Target())
	if h.pos == len(value) {
		return 0, io.EOF
	}
	n := copy(p, value[h.pos:])
	h.pos += n
	return n, nil
}

// Write takes a number of four bytes, or one as text. It does not move the position.
//
// Kernel: cpu_latency_qos_write.
func (h *latencyLimit) Write(ctx context.Context, p []byte) (int, error) {
	if h.flags&tracefile.Write == 0 {
		return 0, syscall.EBADF
	}
	var value int32
	if len(p) == qos.Size {
		value = qos.Value([qos.Size]byte(p))
	} else {
		var err error
		if value, err = parseLimit(string(p)); err != nil {
			return 0, err
		}
	}
	h.ft.mu.Lock()
	defer h.ft.mu.Unlock()
	h.ft.limitChanged(h.ft.writerOf(ctx), h.request.Update(value), []string{
		"cpu_latency_qos_update_request", "cpu_latency_qos_write", "vfs_write", "ksys_write",
	})
	return len(p), nil
}

// parseLimit reads a hexadecimal number of 32 bits, with its sign. No more is looked at than
// what such a number could be with a base of two.
//
// Kernel: kstrtos32_from_user, lib/kstrtox.c.
func parseLimit(s string) (int32, error) {
	const longest = 1 + 32 + 1 // the sign, the digits and a newline
	text := tracefile.CString(s[:min(len(s), longest)])
	v, err := tracefile.ParseLong(text, 16)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cpu_dma_latency: %w", err)
	case v != int64(int32(v)):
		return 0, tracefile.Errorf(syscall.ERANGE, "cpu_dma_latency: %#x", v)
	}
	return int32(v), nil
}

func (h *latencyLimit) Flush() error { return nil }

func (h *latencyLimit) Poll() tracefile.Events { return tracefile.PollAlways }

// Kernel: cpu_latency_qos_release.
func (h *latencyLimit) Close() error {
	h.ft.mu.Lock()
	defer h.ft.mu.Unlock()
	h.ft.limitChanged(h.by, h.request.Remove(), []string{"cpu_latency_qos_remove_request", "cpu_latency_qos_release", "__fput", "__x64_sys_close"})
	return nil
}

// limitChanged makes the events of a change. callers are the functions from the one in which
// it was asked for outwards.
//
// Kernel: trace_pm_qos_add_request and the others, include/trace/events/power.h.
func (ft *Ftrace) limitChanged(by writer, c qos.Change, callers []string) {
	request := [...]struct{ event, point string }{
		qos.Add:    {"power:pm_qos_add_request", "__traceiter_pm_qos_add_request"},
		qos.Update: {"power:pm_qos_update_request", "__traceiter_pm_qos_update_request"},
		qos.Remove: {"power:pm_qos_remove_request", "__traceiter_pm_qos_remove_request"},
	}[c.Action]
	if c.Asked {
		ft.unscripted(by.source(), request.event, 0, numbers{c.Value}, append([]string{request.point}, callers...))
	}
	if c.Applied {
		callers = append([]string{"__traceiter_pm_qos_update_target", "pm_qos_update_target"}, callers...)
		ft.unscripted(by.source(), "power:pm_qos_update_target", 0, numbers{int32(c.Action), c.Prev, c.Curr}, callers)
	}
}
