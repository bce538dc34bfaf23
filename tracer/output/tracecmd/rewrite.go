package tracecmd

import (
	"fmt"
	"regexp"
	"slices"

	"ftracelab/tracer/event"
)

// rewrites change a print fmt where libtraceevent does not understand it as C does.
var rewrites = []struct {
	from *regexp.Regexp
	to   func(p *Printer, match []string) string
}{
	// An operator that binds more tightly takes away the first operand of the
	// parentheses behind it.
	{regexp.MustCompile(`& \(([^()|&,]+) \| ([^()]*)\)`), func(_ *Printer, m []string) string {
		return "& " + m[1] + " | (" + m[2] + ")"
	}},
	// A pointer is a number like any other, and a variable of the kernel stands for its
	// address.
	{regexp.MustCompile(`\(\(\(struct page \*\)vmemmap_base\) \+ \(([^()]*)\)\)`), func(p *Printer, m []string) string {
		base, _ := p.syms.Address("vmemmap_base")
		return fmt.Sprintf("(%#x + (%s))", base, m[1])
	}},
	// It does not know %c. The argument goes to the conversion that follows.
	{regexp.MustCompile(`%c`), func(*Printer, []string) string { return ">c<" }},
	// In a table, a constant of the kernel whose number is not known is -1.
	{regexp.MustCompile(`\{ ?([A-Z_][A-Za-z0-9_ |]*), ?"`), func(_ *Printer, m []string) string {
		if slices.Contains(knownConstants, m[1]) {
			return m[0]
		}
		return `{ -1, "`
	}},
}

// knownConstants are the constants for which the kernel's numbers are known.
var knownConstants = []string{
	"HI_SOFTIRQ", "TIMER_SOFTIRQ", "NET_TX_SOFTIRQ", "NET_RX_SOFTIRQ", "BLOCK_SOFTIRQ", "IRQ_POLL_SOFTIRQ",
	"TASKLET_SOFTIRQ", "SCHED_SOFTIRQ", "HRTIMER_SOFTIRQ", "RCU_SOFTIRQ", "HRTIMER_NORESTART", "HRTIMER_RESTART",
}

// printed gives the type that prints the records of t.
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
