package tracer

import (
	"fmt"
	"syscall"

	"ftracelab/tracer/cpumask"
)

func (tr *Instance) showCPUMask() string { return tr.cpumask.String() + "\n" }

// writeCPUMask sets the mask; CPUs that leave it stop recording, and those that enter
// it start.
//
// Kernel: tracing_cpumask_write and tracing_set_cpumask, kernel/trace/trace.c.
func (tr *Instance) writeCPUMask(s string) error {
	if s == "" {
		return fmt.Errorf("tracing_cpumask: nothing written: %w", syscall.EINVAL)
	}
	mask, err := cpumask.Parse(s, tr.buf.CPUs())
	if err != nil {
		return err
	}
	tr.cpumask = mask
	for cpu, on := range mask {
		tr.buf.SetCPURecording(cpu, on)
		tr.snap.buf.SetCPURecording(cpu, on)
	}
	return nil
}
