package html

import (
	"fmt"

	"ftracelab/report"
)

// assumed lists what was assumed and lost where the answer would be another one without
// it. All other caveats are at the end of the page.
func assumed(r *report.Report) (list []string) {
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	in, a := &r.Input, &r.Answer
	if a.If != "" {
		note("The answer only holds if %s.", a.If)
	}
	if in.Losses > 0 {
		note("Events are missing from the trace in %s places (%s known to be lost): they are in no figure.", report.Group(in.Losses), report.Group(in.Lost))
	}
	if in.CPUless {
		note("The capture names no CPUs: all of it counts as one CPU's.")
	}
	if in.KernelAtLeast || in.UserAtLeast {
		note("There were more unique stacks than could be told apart: the map may need to be larger.")
	}
	if a.SavingPct <= 0 {
		return list
	}
	for i := range r.Designs {
		d := &r.Designs[i]
		if d.Name != a.Design {
			continue
		}
		if d.Needs != "" {
			note("%s needs %s.", d.Name, d.Needs)
		}
		if d.RetainedBasis == report.Extrapolated {
			note("The trace does not fill the buffer with %s: what it holds is extrapolated from the mean events on a page.", d.Name)
		}
		if d.MapBytes > 0 {
			note("The memory of the map is what a kernel's structures of this size take; it was not measured.")
		}
		break
	}
	return list
}
