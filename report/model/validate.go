package model

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"ftracelab/tracer/event"
)

// mistake is a value that no model has, and the way to it: keys and indices.
type mistake struct {
	path []any
	what string
}

func (m *mistake) Error() string {
	var b strings.Builder
	for n, step := range m.path {
		switch {
		case n == 0:
			fmt.Fprint(&b, step)
		default:
			if _, index := step.(int); index {
				fmt.Fprintf(&b, "[%v]", step)
			} else {
				fmt.Fprintf(&b, ".%v", step)
			}
		}
	}
	return b.String() + ": " + m.what
}

func wrong(what string, path ...any) error { return &mistake{path, what} }

// within puts a mistake below further steps.
func within(err error, path ...any) error {
	if m := (*mistake)(nil); errors.As(err, &m) {
		return &mistake{append(path, m.path...), m.what}
	}
	return err
}

// locate puts the line of a mistake, or of what it is missing from, before it.
func locate(text []byte, err error) error {
	var m *mistake
	var doc yaml.Node
	if !errors.As(err, &m) || yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 {
		return err
	}
	at := doc.Content[0]
	for _, step := range m.path {
		next := child(at, step)
		if next == nil {
			break
		}
		at = next
	}
	return fmt.Errorf("line %d: %w", at.Line, err)
}

func child(n *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return n.Content[step]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// Validate returns an error that names a value from which nothing can be drawn, or nil.
func (m *Model) Validate() error {
	switch {
	case m.Schema != Schema && m.Schema != schema1:
		return wrong(fmt.Sprintf("%q: want %s or %s", m.Schema, Schema, schema1), "schema")
	case m.Learned.Events < 1 || m.Learned.Events > maxCount:
		return wrong(fmt.Sprintf("%d: want 1 to %d", m.Learned.Events, uint64(maxCount)), "learned", "events")
	case !(m.Learned.Seconds >= 0 && m.Learned.Seconds <= 1e9):
		return wrong(fmt.Sprintf("%v: want 0 to 1e9", m.Learned.Seconds), "learned", "seconds")
	case len(m.CPUs) < 1 || len(m.CPUs) > maxCPUs:
		return wrong(fmt.Sprintf("%d of them: want 1 to %d", len(m.CPUs), maxCPUs), "cpus")
	case len(m.Events) < 1 || len(m.Events) > maxTypes:
		return wrong(fmt.Sprintf("%d of them: want 1 to %d", len(m.Events), maxTypes), "events")
	}
	if err := m.About.validate(); err != nil {
		return within(err, "about")
	}
	seen := map[int]bool{}
	for n := range m.CPUs {
		c := &m.CPUs[n]
		if seen[c.CPU] {
			return wrong(fmt.Sprintf("CPU %d is there twice", c.CPU), "cpus", n, "cpu")
		}
		seen[c.CPU] = true
		if err := c.validate(m.Learned.Seconds > 0); err != nil {
			return within(err, "cpus", n)
		}
	}
	kernel, user := false, false
	for n := range m.Events {
		e := &m.Events[n]
		if err := e.validate(); err != nil {
			return within(err, "events", n)
		}
		kernel, user = kernel || e.Kernel > 0, user || e.User > 0
	}
	if err := m.Kernel.validate(kernel, m.Schema); err != nil {
		return within(err, "kernel-stacks")
	}
	if err := m.User.validate(user, m.Schema); err != nil {
		return within(err, "user-stacks")
	}
	return nil
}

// maxAbout bounds each text of an About.
const maxAbout = 1000

func (a *About) validate() error {
	if a == nil {
		return nil
	}
	for _, f := range []struct{ key, text string }{
		{"title", a.Title},
		{"source", a.Source},
		{"kernel", a.Kernel},
		{"date", a.Date},
		{"lacks", a.Lacks},
	} {
		if f.text == "" || len(f.text) > maxAbout || strings.Contains(f.text, "\n") {
			return wrong(fmt.Sprintf("%d bytes: want one line of 1 to %d", len(f.text), maxAbout), f.key)
		}
	}
	return nil
}

func (c *CPU) validate(timed bool) error {
	switch {
	case c.CPU < 0 || c.CPU >= maxCPUs:
		return wrong(fmt.Sprintf("%d: want 0 to %d", c.CPU, maxCPUs-1), "cpu")
	case c.Events < 1 || c.Events > maxCount:
		return wrong(fmt.Sprintf("%d: want 1 to %d", c.Events, uint64(maxCount)), "events")
	case timed && len(c.Gaps) == 0:
		return wrong("none: a model with seconds has gaps on each CPU", "gaps")
	case !timed && len(c.Gaps) > 0:
		return wrong("a model without seconds has none", "gaps")
	case !(c.Again >= 0 && c.Again < 1):
		return wrong(fmt.Sprintf("%v: want 0 to less than 1", c.Again), "again")
	case c.Others[0] > maxStacks || c.Others[1] > maxCount || (c.Others[0] == 0) != (c.Others[1] == 0):
		return wrong(fmt.Sprintf("%v: want [tasks, events], both 0 or neither", c.Others), "others")
	}
	all := c.Others[1]
	for n, t := range c.Tasks {
		if t.Events < 1 || t.Events > maxCount {
			return wrong(fmt.Sprintf("%d: want 1 to %d", t.Events, uint64(maxCount)), "tasks", n, "events")
		}
		all += t.Events
	}
	if all == 0 {
		return wrong("neither tasks nor others have events", "tasks")
	}
	mean := 0.0
	for n, g := range c.Gaps {
		if g[0] > 1e18 || g[1] < 1 || g[1] > maxCount {
			return wrong(fmt.Sprintf("%v: want [nanoseconds, how often]", g), "gaps", n)
		}
		mean += float64(g[0])
	}
	if timed && mean == 0 {
		return wrong("no time passes", "gaps")
	}
	return nil
}

func (e *Event) validate() error {
	system, name, _ := strings.Cut(e.Name, ":")
	switch {
	case system == "" || name == "":
		return wrong(fmt.Sprintf("%q: want SYSTEM:NAME", e.Name), "name")
	case e.Events < 1 || e.Events > maxCount:
		return wrong(fmt.Sprintf("%d: want 1 to %d", e.Events, uint64(maxCount)), "events")
	case e.Kernel > e.Events:
		return wrong(fmt.Sprintf("%d of %d events", e.Kernel, e.Events), "with-kernel-stack")
	case e.User > e.Events:
		return wrong(fmt.Sprintf("%d of %d events", e.User, e.Events), "with-user-stack")
	case len(e.Sizes) == 0:
		return wrong("none", "sizes")
	}
	for n, s := range e.Sizes {
		if s[0] > maxRecord || s[0] > 0 && s[0] < event.CommonSize || s[1] < 1 || s[1] > maxCount {
			return wrong(fmt.Sprintf("%v: want [bytes, how often], %d to %d bytes, or 0 if the size is not known", s, event.CommonSize, maxRecord), "sizes", n)
		}
	}
	return nil
}

func (s *Stacks) validate(wanted bool, schema string) error {
	switch {
	case s == nil && wanted:
		return wrong("none, but events have them")
	case s == nil:
		return nil
	case s.Exponent != nil && !(*s.Exponent >= 0 && *s.Exponent <= 1):
		return wrong(fmt.Sprintf("%v: want 0 to 1", *s.Exponent), "exponent")
	case len(s.Ranked) == 0:
		return wrong("none", "ranked")
	case len(s.Growth) == 0:
		return wrong("none", "growth")
	case len(s.Own) > 0 && schema == schema1:
		return wrong(schema1+" has none", "own")
	case len(s.Own) == 0 && schema != schema1:
		return wrong("none", "own")
	}
	for n, o := range s.Own {
		if o[0] > maxDepth || o[1] < 1 || o[1] > maxStacks {
			return wrong(fmt.Sprintf("%v: want [addresses, stacks], %d addresses and %d stacks at most", o, maxDepth, maxStacks), "own", n)
		}
	}
	all := uint64(0)
	for n, r := range s.Ranked {
		if r[0] < 1 || r[0] > maxCount || r[1] > maxDepth || r[2] < 1 || r[2] > maxStacks {
			return wrong(fmt.Sprintf("%v: want [how often, addresses, stacks], %d addresses and %d stacks at most", r, maxDepth, maxStacks), "ranked", n)
		}
		if all += r[2]; all > maxStacks {
			return wrong(fmt.Sprintf("more than %d stacks", maxStacks), "ranked", n)
		}
	}
	last := Pair{}
	for n, p := range s.Growth {
		// Among one more stack there is at most one more that is new.
		if p[0] <= last[0] || p[1] < last[1] || p[1]-last[1] > p[0]-last[0] || p[0] > math.MaxInt64 {
			return wrong(fmt.Sprintf("%v after %v: want [stacks, different ones], both growing", p, last), "growth", n)
		}
		last = p
	}
	if last[1] < 1 || last[1] > all {
		return wrong(fmt.Sprintf("ends with %d different stacks: want 1 to the %d of ranked", last[1], all), "growth")
	}
	return nil
}
