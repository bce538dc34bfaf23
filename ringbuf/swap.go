package ringbuf

import (
	"fmt"
	"syscall"
)

// SwapCPU exchanges the rings of cpu of two buffers, with all that is in them
// and their counters: how a snapshot is taken without copying. Readers and
// iterators of either buffer go on in the other ring; waiting readers are
// woken.
//
// Errors wrap, in the kernel's order, EBUSY (mapped), EINVAL (no such CPU, not as
// many sub-buffers, or not of the same size), EAGAIN (recording is off in one of
// them) or EBUSY (an event is being written, or the other buffer is being
// changed). Nothing has changed then.
//
// Kernel: ring_buffer_swap_cpu, kernel/trace/ring_buffer.c.
func SwapCPU(x, y *Buffer, cpu int) error { return swap(x, y, cpu, cpu+1) }

// Swap is SwapCPU for all CPUs: either all are swapped or none.
func Swap(x, y *Buffer) error { return swap(x, y, 0, len(x.cpus)) }

func swap(x, y *Buffer, first, end int) error {
	if x == y || first < 0 || end > len(x.cpus) || end > len(y.cpus) {
		return fmt.Errorf("ringbuf: swap cpu %d: %w", end-1, syscall.EINVAL)
	}
	x.stop(first, end)
	defer x.start(first, end)
	if !y.control.TryLock() { // two swaps could wait for each other
		return fmt.Errorf("ringbuf: swap: %w", syscall.EBUSY)
	}
	y.pause(first, end)
	defer y.start(first, end)
	for cpu := first; cpu < end; cpu++ {
		a, b := x.readers(cpu), y.readers(cpu) // in no other order: y.control is held
		defer a.lock.Unlock()
		defer b.lock.Unlock()
		if err := swappable(a, b); err != nil {
			return fmt.Errorf("ringbuf: swap cpu %d: %w", cpu, err)
		}
	}
	for cpu := first; cpu < end; cpu++ {
		swapStopped(x, y, cpu)
	}
	return nil
}

func swappable(a, b *cpuBuffer) error {
	x, y := a.buf, b.buf
	switch {
	case a.mapped() || b.mapped():
		return syscall.EBUSY
	case a.nrPages != b.nrPages, x.subbufSize != y.subbufSize:
		return syscall.EINVAL
	case x.off.Load()|y.off.Load()|(a.control.Load()|b.control.Load())&recordOff != 0:
		return syscall.EAGAIN
	case a.context != 0 || b.context != 0:
		return syscall.EBUSY
	}
	return nil
}

// swapStopped exchanges two rings whose writers are stopped and whose readers
// are locked out. Whether a goroutine is online as the CPU stays with the
// buffer that it writes to.
func swapStopped(x, y *Buffer, cpu int) {
	a, b := x.cpus[cpu].Load(), y.cpus[cpu].Load()
	ofA, ofB := a.control.Load()&online, b.control.Load()&online
	if ofA != ofB {
		a.control.Store(a.control.Load() ^ online)
		b.control.Store(b.control.Load() ^ online)
	}
	a.pinned, b.pinned = b.pinned, a.pinned
	a.hook, b.hook = b.hook, a.hook
	a.readHook, b.readHook = b.readHook, a.readHook
	a.buf, b.buf = y, x
	x.cpus[cpu].Store(b)
	y.cpus[cpu].Store(a)
	a.wakeAll()
	b.wakeAll()
}
