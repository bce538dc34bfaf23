package machine

import (
	"fmt"
	"math/rand/v2"
)

// Pace says how the time that kernel code takes differs from one run of it to the next.
// Without one, a step always takes its Delta.
type Pace struct {
	// Every is the mean time of kernel code from one stall to the next, in ns. Something
	// outside of the kernel holds the processor up then: its caches, the firmware, the
	// host of a virtual machine.
	Every Time
	// Stalls are lengths of stalls in ns, in ascending order: as many are between any two
	// neighbours as between any other two. There are at least two.
	Stalls []Time
}

// pace is the pace of one CPU. It draws from a stream of its own.
type pace struct {
	*Pace
	rng   *rand.Rand
	until Time // how much time of kernel code passes before the next stall
}

func newPace(m *Machine, p *Pace, cpu int) pace {
	if p == nil {
		return pace{}
	}
	own := pace{Pace: p, rng: m.Rand(fmt.Sprintf("pace %d", cpu))}
	own.rearm()
	return own
}

func (p *pace) rearm() { p.until = p.rng.Uint64N(2*p.Every) + 1 }

// usual is the speed of code that takes as long as its steps say.
const usual = 256

// draw gives the speed at which a piece of code runs this time, as a share of usual: from
// a quarter to one and three quarters, most often near 1.
func (p *pace) draw() uint16 {
	r := p.rng.Uint64()
	return uint16(64 + (r&0xff+r>>8&0xff+r>>16&0xff)/2)
}

// takes is how long the step op of a takes.
func (p *pace) takes(a *activation, op *Op) Time {
	d := Time(op.Delta) * Time(a.pace) / usual
	if a.pace == 0 || d >= p.until || op.Kind == OpHalt {
		return p.special(a, op)
	}
	p.until -= d
	return d
}

// special is takes where there is more to do than to multiply.
func (p *pace) special(a *activation, op *Op) Time {
	switch {
	case op.Kind == OpHalt: // its Delta is not a time
		return 0
	case a.exact, p.Pace == nil:
		return Time(op.Delta)
	case a.pace == 0:
		a.pace = p.draw()
		return p.takes(a, op)
	}
	d := Time(op.Delta) * Time(a.pace) / usual
	p.rearm()
	return d + p.stall()
}

// stall draws the length of a stall. Between two of Stalls, shorter ones are more likely.
func (p *pace) stall() Time {
	n := p.rng.IntN(len(p.Stalls) - 1)
	u := p.rng.Uint64N(usual)
	return p.Stalls[n] + (p.Stalls[n+1]-p.Stalls[n])*u*u/(usual*usual)
}
