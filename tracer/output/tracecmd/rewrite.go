package tracecmd

import (
	"fmt"
	"regexp"
	"slices"

	"ftracelab/tracer/event"
)

// rewrites are what libtraceevent makes of C in a print fmt where it is not what C
// means.
var rewrites = []struct {
	from *regexp.Regexp
	to   func(p *Printer, match []string) string
}{
	// An operator that binds tighter takes the first operand out of the parentheses
	// behind it.
	{regexp.MustCompile(`& \(([^()|&,]+) \| ([^()]*)\)`), func(_ *Printer, m []string) string {
		return "& " + m[1] + " | (" + m[2] + ")"
	}},
	// A pointer is a number like others, and a variable of the kernel its address.
	{regexp.MustCompile(`\(\(\(struct page \*\)vmemmap_base\) \+ \(([^()]*)\)\)`), func(p *Printer, m []string) string {
		base, _ := p.syms.Address("vmemmap_base")
		return fmt.Sprintf("(%#x + (%s))", base, m[1])
	}},
	// It does not know %c, and leaves its argument to the conversion that follows.
	{regexp.MustCompile(`%c`), func(*Printer, []string) string { return ">c<" }},
	// A constant of the kernel that has no number in a table is -1.
	{regexp.MustCompile(`\{ ?([A-Z_][A-Za-z0-9_ |]*), ?"`), func(_ *Printer, m []string) string {
		if slices.Contains(knownConstants, m[1]) {
			return m[0]
		}
		return `{ -1, "`
	}},
}

// knownConstants have the values of the kernel.
var knownConstants = []string{
	"HI_SOFTIRQ", "TIMER_SOFTIRQ", "NET_TX_SOFTIRQ", "NET_RX_SOFTIRQ", "BLOCK_SOFTIRQ", "IRQ_POLL_SOFTIRQ",
	"TASKLET_SOFTIRQ", "SCHED_SOFTIRQ", "HRTIMER_SOFTIRQ", "RCU_SOFTIRQ", "HRTIMER_NORESTART", "HRTIMER_RESTART",
}

// printed is the type with which records of t are printed.
func (p *Printer) printed(t *event.Type) *event.Type {
	if known, ok := p.types[t]; ok {
		return known
	}
	format := string(t.Format())
	changed := false
	for _, r := range rewrites {
		if r.from.MatchString(format) {
			changed = true
			format = r.from.ReplaceAllStringFunc(format, func(m string) string { return r.to(p, r.from.FindStringSubmatch(m)) })
		}
	}
	p.types[t] = t
	if changed {
		if other, err := event.ParseFormat(t.System, []byte(format)); err == nil {
			p.types[t] = other
		}
	}
	return p.types[t]
}
