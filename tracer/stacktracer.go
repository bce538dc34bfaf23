package tracer

import (
	"fmt"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/functions"
)

// stackTracer looks at the kernel stack at every function's entry and keeps the
// deepest it has seen.
//
// Kernel: kernel/trace/trace_stack.c.
type stackTracer struct {
	ft      *Ftrace
	enabled int32 // kernel.stack_tracer_enabled
	on      bool
	max     uint64 // stack_max_size, in bytes
	ips     []uint64
	use     []int // bytes of stack from its top to the place of each of ips
	hash    functions.OpsHash
	filter  functionFilter // stack_trace_filter
	ops     functions.Ops
}

// stackTracerFrame is how many bytes the tracer's trampoline takes on the stack,
// below the function in which it was called.
//
// Kernel: seen in every stack of a 6.12 on x86.
const stackTracerFrame = 48

func (s *stackTracer) init(ft *Ftrace) {
	s.ft = ft
	s.filter = functionFilter{tr: ft.top, set: &s.hash.Filter, bare: true}
	s.ops = functions.Ops{Hash: &s.hash, Call: s.check, Handler: "stack_trace_call"}
}

// check keeps the stack if it is the deepest so far. Interrupts have a stack of their
// own; it is not looked at.
//
// Kernel: check_stack, kernel/trace/trace_stack.c.
func (s *stackTracer) check(c *machine.CPU, _ *machine.Frame) {
	if c.InHardIRQ || c.InSoftIRQ || c.InNMI {
		return
	}
	size := c.StackUse() + stackTracerFrame
	if uint64(size) <= s.max {
		return
	}
	s.max = uint64(size)
	s.ips = c.AppendKernelStack(s.ips[:0])
	s.use = c.AppendStackUse(s.use[:0])
	s.use[0] = size
	s.ips = s.ips[:min(len(s.ips), len(s.use))]
}

// show is the text of stack_trace.
//
// Kernel: t_show, kernel/trace/trace_stack.c.
func (s *stackTracer) show() ([]byte, error) {
	text := fmt.Appendf(nil, "        Depth    Size   Location    (%d entries)\n        -----    ----   --------\n", len(s.ips))
	if !s.on && s.max == 0 {
		text = append(text, stackTracerOff...)
	}
	k := s.ft.machine.Kallsyms()
	for n, ip := range s.ips {
		size := s.use[n]
		if n+1 < len(s.use) {
			size -= s.use[n+1]
		}
		text = fmt.Appendf(text, "%3d) %8d   %5d   ", n, s.use[n], size)
		if name, module, offset, length, ok := k.Lookup(ip); ok {
			text = fmt.Appendf(text, "%s+%#x/%#x", name, offset, length)
			if module != "" {
				text = fmt.Appendf(text, " [%s]", module)
			}
		} else {
			text = fmt.Appendf(text, "%#x", ip)
		}
		text = append(text, '\n')
	}
	return text, nil
}

const stackTracerOff = `#
#  Stack tracer disabled
#
# To enable the stack tracer, either add 'stacktrace' to the
# kernel command line
# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'
#
`

// files are the files of the stack tracer.
func (s *stackTracer) files() []tracefile.Node {
	top := s.ft.top
	return []tracefile.Node{
		top.value("stack_max_size", 0o640, func() string { return fmt.Sprintf("%d\n", int64(s.max)) }, func(text string) error {
			n, err := tracefile.ParseUserUlong(text, 10)
			if err != nil {
				return fmt.Errorf("stack_max_size: %w", err)
			}
			s.max = n
			return nil
		}),
		top.seq("stack_trace", 0o440, s.show),
		s.filter.file("stack_trace_filter"),
	}
}

// toggle switches the stack tracer on or off as kernel.stack_tracer_enabled wants it.
//
// Kernel: stack_trace_sysctl, kernel/trace/trace_stack.c.
func (s *stackTracer) toggle() {
	if on := s.enabled != 0; s.on == on {
		return
	}
	if s.on = !s.on; s.on {
		s.ft.users.Register(&s.ops)
	} else {
		s.ft.users.Unregister(&s.ops)
	}
}
