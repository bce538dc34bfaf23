package hist

import "fmt"

// appendActions appends the actions as the trigger's line has them.
//
// Kernel: print_actions_spec, kernel/trace/trace_events_hist.c.
func (h *Hist) appendActions(dst []byte) []byte {
	for _, a := range h.actions {
		subject := a.track
		if a.handler == onmatch {
			subject = a.match.system + "." + a.match.name
		}
		dst = fmt.Appendf(dst, ":%s%s).%s(", handlers[a.handler], subject, a.name)
		for n, param := range h.shownParams(a) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, param...)
		}
		dst = append(dst, ')')
	}
	return dst
}

// Kernel: print_action_spec, kernel/trace/trace_events_hist.c.
func (h *Hist) shownParams(a *action) []string {
	var params []string
	switch a.kind {
	case save:
		for _, v := range h.saveVars {
			params = append(params, v.variable.varName)
		}
	case trace:
		if a.keyword {
			params = append(params, a.synthName)
		}
		params = append(params, a.params...)
	}
	return params
}

// appendActionValues appends what onmax and onchange keep in an element.
//
// Kernel: print_actions and track_data_print, kernel/trace/trace_events_hist.c.
func (h *Hist) appendActionValues(dst []byte, e *Element) []byte {
	for _, a := range h.actions {
		if a.kind == snapshot || a.handler == onmatch {
			continue
		}
		what := "max"
		if a.handler == onchange {
			what = "changed"
		}
		dst = fmt.Appendf(dst, "\n\t%s: %10d", what, e.Vars[a.trackVar.index].N)
		for _, saved := range h.saveVars {
			v := e.Vars[saved.variable.index]
			switch {
			case saved.value.flags&flagString == 0:
				dst = fmt.Appendf(dst, "  %s: %10d", saved.variable.varName, v.N)
			case v.B == nil: // never saved
				dst = fmt.Appendf(dst, "  %s: %-32s", saved.variable.varName, "(null)")
			default:
				dst = fmt.Appendf(dst, "  %s: %-32s", saved.variable.varName, v.B)
			}
		}
	}
	return dst
}
