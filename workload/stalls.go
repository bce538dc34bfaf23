package workload

import "ftracelab/machine"

// stalling is how kernel code is held up. It was learned from the captures from which the
// model was made: of the steps between two records of the graph tracer with interrupts
// disabled at both, those that took longer than the longest step of a template. With
// interrupts disabled, nothing of the kernel can have come between. There are 55 of them
// in 32 ms of such code (in the time of the simulated machine, see slowness in
// internal/learn); the lengths are their quantiles. The last one is the longest step with
// interrupts disabled in the captures of the tracer irqsoff.
//
// Departure: the stalls come from the machine on which the captures were made, an
// emulated PC. Other machines have other ones.
var stalling = machine.Pace{
	Every: 580 * machine.Microsecond,
	Stalls: []machine.Time{
		4246, 4645, 5000, 5341, 6100, 6878, 14000, 22603, 29000, 35154,
		43000, 50615, 63000, 76844, 83000, 89914, 117000, 144475, 474282, 911464,
	},
}
