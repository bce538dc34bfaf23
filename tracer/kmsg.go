package tracer

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"ftracelab/machine/klog"
	"ftracelab/tracefsfs/tracefile"
)

// Kmsg is /dev/kmsg: each read gives one record of the kernel's log, and each write adds
// one.
//
// Departure: whoever can open it can read it, and printk_devkmsg is always ratelimit. No
// reader can seek, so each begins behind what dmesg -C has hidden, and not with the oldest
// record.
//
// Kernel: kmsg_fops, kernel/printk/printk.c.
func (ft *Ftrace) Kmsg() *tracefile.File {
	return &tracefile.File{
		Name: "kmsg", Mode: 0o644,
		Open: func(ctx context.Context, flags tracefile.Flags) (tracefile.Handle, error) {
			ft.mu.Lock()
			defer ft.mu.Unlock()
			log := ft.machine.Log()
			return &kmsg{ft: ft, log: log, flags: flags, by: ft.writerOf(ctx), next: log.Cleared()}, nil
		},
		Traits: tracefile.Traits{Consumes: true},
	}
}

// kmsg is an open /dev/kmsg.
type kmsg struct {
	ft    *Ftrace
	log   *klog.Log
	flags tracefile.Flags
	by    writer // who has opened it
	next  uint64 // the number of the record that the next read gives
	limit klog.Limit
}

// Read gives one record. Errors: EPIPE if the record that comes next was dropped, so that
// the following read begins with the oldest; EINVAL if p is too short; EAGAIN or a wait
// after the last record.
//
// Kernel: devkmsg_read.
func (k *kmsg) Read(ctx context.Context, p []byte) (int, error) {
	for {
		r, ok := k.log.Next(k.next)
		switch {
		case !ok && k.flags&tracefile.NonBlock != 0:
			return 0, syscall.EAGAIN
		case !ok:
			if err := k.ft.awaitMore(ctx); err != nil {
				return 0, err
			}
			continue
		case r.Seq != k.next:
			k.next = r.Seq
			return 0, tracefile.Errorf(syscall.EPIPE, "records were dropped")
		}
		k.next++
		line := r.AppendKmsg(nil)
		if len(line) > len(p) {
			return 0, tracefile.Errorf(syscall.EINVAL, "a record of %d bytes", len(line))
		}
		return copy(p, line), nil
	}
}

// Kernel: devkmsg_write.
func (k *kmsg) Write(ctx context.Context, p []byte) (int, error) {
	k.ft.mu.Lock()
	defer k.ft.mu.Unlock()
	by := k.ft.writerOf(ctx)
	if err := k.log.Write(by.source(), k.ft.cpuTime(by.cpu), &k.limit, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (k *kmsg) Flush() error { return nil }

// Kernel: devkmsg_poll.
func (k *kmsg) Poll() tracefile.Events {
	_, more := k.log.Next(k.next)
	return tracefile.Readable(more)
}

func (k *kmsg) Close() error {
	k.ft.mu.Lock()
	defer k.ft.mu.Unlock()
	k.log.Release(k.by.source(), k.ft.cpuTime(k.by.cpu), &k.limit)
	return nil
}

// awaitMore waits for time to pass, like a reader of trace_pipe.
func (ft *Ftrace) awaitMore(ctx context.Context) error {
	if ctx.Err() != nil {
		return syscall.EINTR
	}
	if ft.cfg.Wait != nil {
		return ft.cfg.Wait(ctx)
	}
	ft.Run(idleStep)
	return nil
}

// printkSysctl is /proc/sys/kernel/printk: four numbers, see klog.Levels. A write sets as
// many of them as it has numbers.
//
// Kernel: printk_sysctls, kernel/printk/sysctl.c; do_proc_dointvec, kernel/sysctl.c.
func (ft *Ftrace) printkSysctl() *tracefile.File {
	log := ft.machine.Log()
	show := func() string {
		l := log.Levels()
		return fmt.Sprintf("%d\t%d\t%d\t%d\n", l[0], l[1], l[2], l[3])
	}
	return ft.top.value("printk", 0o644, show, func(text string) error {
		levels := log.Levels()
		words := strings.Fields(text)
		if len(words) == 0 {
			return tracefile.Errorf(syscall.EINVAL, "printk: no number")
		}
		for n, word := range words[:min(len(words), len(levels))] {
			v, err := tracefile.ParseLong(word, 0)
			if err != nil || v < anyInt.least || v > anyInt.most {
				return fmt.Errorf("printk: %q: %w", word, syscall.EINVAL)
			}
			levels[n] = int32(v)
			log.SetLevels(levels)
		}
		return nil
	}).(*tracefile.File)
}
