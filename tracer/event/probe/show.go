package probe

import (
	"fmt"
	"strings"
)

// locations are the names of the kinds in error_log.
var locations = [...]string{
	Kprobe: "trace_kprobe", Uprobe: "trace_uprobe", Fprobe: "trace_fprobe",
	Tracepoint: "trace_fprobe", Eprobe: "event_probe",
}

// letter gives the letter with which the definition's line begins.
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

// Show gives the definition's line in dynamic_events, without a newline.
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

// place is the place of the probe in the form of its line. A command that removes the
// probe may name it in the same form.
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

// Match reports whether a command that removes probes means this one. Group and event
// must be the same, where "" stands for any. args are the words that follow in the
// command: the place and the arguments. Those that are given must be the same.
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

// matchPlace compares a place with the first 63 characters of the probe's place.
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
