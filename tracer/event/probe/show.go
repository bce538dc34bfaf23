package probe

import (
	"fmt"
	"strings"
)

// locations name the kinds in error_log.
var locations = [...]string{
	Kprobe: "trace_kprobe", Uprobe: "trace_uprobe", Fprobe: "trace_fprobe",
	Tracepoint: "trace_fprobe", Eprobe: "event_probe",
}

// letter is how the definition's line begins.
func (d *Definition) letter() string {
	switch d.Kind {
	case Fprobe:
		return "f"
	case Tracepoint:
		return "t"
	case Eprobe:
		return "e"
	}
	if d.Return {
		return "r"
	}
	return "p"
}

// Show is the definition as dynamic_events shows it, without a line break.
//
// Kernel: trace_kprobe_show, trace_uprobe_show, trace_fprobe_show,
// eprobe_dyn_event_show.
func (d *Definition) Show() string {
	var b strings.Builder
	b.WriteString(d.letter())
	if d.Return && d.MaxActive != 0 {
		fmt.Fprint(&b, d.MaxActive)
	}
	fmt.Fprintf(&b, ":%s/%s %s", d.Group, d.Event, d.place())
	if d.Kind == Fprobe && d.Return {
		b.WriteString("%return")
	}
	for i := range d.Args {
		fmt.Fprintf(&b, " %s=%s", d.Args[i].Name, d.Args[i].Comm)
	}
	return b.String()
}

// place is where the probe is, as its line shows it and as a command to remove it may
// name it.
func (d *Definition) place() string {
	switch {
	case d.Kind == Uprobe && d.RefCtr != 0:
		return fmt.Sprintf("%s:0x%016x(0x%x)", d.Path, d.Offset, d.RefCtr)
	case d.Kind == Uprobe:
		return fmt.Sprintf("%s:0x%016x", d.Path, d.Offset)
	case d.Kind == Eprobe:
		return d.Attached.System + "." + d.Attached.Name
	case d.Symbol == "":
		return d.pointer
	case d.Offset != 0:
		return fmt.Sprintf("%s+%d", d.Symbol, d.Offset)
	}
	return d.Symbol
}

// Match says whether a command that removes probes means this one: its group ("":
// any), its event ("": any), and of the words behind them as many as are given: the
// place and the arguments.
//
// Kernel: trace_kprobe_match and the other kinds' match, trace_probe_match_command_args.
func (d *Definition) Match(group, name string, args []string) bool {
	if group != "" && group != d.Group || name != "" && name != d.Event {
		return false
	}
	if len(args) == 0 {
		return true
	}
	if !d.matchPlace(args[0]) || len(args)-1 > len(d.Args) {
		return false
	}
	for i, arg := range args[1:] {
		if arg != d.Args[i].Name+"="+d.Args[i].Comm {
			return false
		}
	}
	return true
}

// matchPlace compares a place with the first 63 characters of the probe's.
func (d *Definition) matchPlace(place string) bool {
	switch d.Kind {
	case Uprobe:
		offset, ok := strings.CutPrefix(place, d.Path+":")
		return ok && offset == strings.TrimPrefix(d.place(), d.Path+":")
	case Eprobe:
		i := strings.IndexByte(place, '/')
		if i < 0 {
			i = strings.IndexByte(place, '.')
		}
		return i >= 0 && place[:i] == d.Attached.System && place[i+1:] == d.Attached.Name
	}
	own := d.place()
	return place == own[:min(len(own), maxArgText)]
}
