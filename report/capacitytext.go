package report

import "fmt"

// Brief says in few words how unique stacks grow, how long the map lasts and when it
// pays. It is for a Capacity of which nothing was asked.
func (c *Capacity) Brief() string {
	g := &c.Growth
	s := fmt.Sprintf("Twice as many stacks: about %s unique (at worst %s; the law was %.1f %% off on a held-out half).",
		Group(g.Doubled), Group(g.DoubledAtWorst), g.ErrorPct)
	if p := c.Pays; p != nil {
		s += fmt.Sprintf(" bits=%d %s; it has paid %s.", p.Bits, c.lasts(p.Bits), p.After.words())
	}
	return s
}

// Lines says in sentences what a Capacity holds besides its tables: the growth of unique
// stacks, how long the map lasts, when it pays, and what instances share.
func (c *Capacity) Lines() (lines []string) {
	g := &c.Growth
	switch {
	case g.Law != "":
		times := ""
		if c.UniqueFactor != 1 {
			times = fmt.Sprintf("%g times ", c.UniqueFactor)
		}
		lines = append(lines, fmt.Sprintf("Unique kernel stacks follow %s%v: twice as many stacks have %s unique ones, at worst %s. When half was held out, the law was %.1f %% off.",
			times, law{g.Law, g.Scale, g.Shape}, Group(g.Doubled), Group(g.DoubledAtWorst), g.ErrorPct))
	case g.DoubledAtWorst > 0:
		lines = append(lines, fmt.Sprintf("Growth of unique kernel stacks: %s. Twice as many stacks have at worst %s unique ones.", g.Why, Group(g.DoubledAtWorst)))
	default:
		lines = append(lines, fmt.Sprintf("Growth of unique kernel stacks: %s.", g.Why))
	}
	switch {
	case c.EnoughBits > 0 && c.MaxDropPct == 0:
		lines = append(lines, fmt.Sprintf("bits=%d is the smallest map that drops no stack of a trace of this length.", c.EnoughBits))
	case c.EnoughBits > 0:
		lines = append(lines, fmt.Sprintf("bits=%d is the smallest map that drops at most %g %% of the stacks of a trace of this length.", c.EnoughBits, c.MaxDropPct))
	case len(c.Maps) > 0:
		lines = append(lines, fmt.Sprintf("No map drops as little as %g %% of the stacks.", c.MaxDropPct))
	}
	if p := c.Pays; p != nil {
		s := fmt.Sprintf("%s at bits=%d %s. It has saved as many bytes as its map takes %s", p.Design, p.Bits, c.lasts(p.Bits), p.After.words())
		if p.LookBack.Known() {
			s += fmt.Sprintf("; in a buffer the map pays if you look back more than %v s", p.LookBack)
		}
		lines = append(lines, s+".")
	}
	if c.Instances > 1 {
		lines = append(lines, c.sharing()...)
	}
	if c.Rate == 0 && len(c.Maps) > 0 {
		lines = append(lines, "The capture has no times: --rate says how many events come in a second.")
	}
	if c.Best != "" {
		lines = append(lines, fmt.Sprintf("With %s KB, %s looks back furthest of the designs that exist and keep stacks.", Group(c.BudgetKB), c.Best))
	} else if c.BudgetKB > 0 {
		lines = append(lines, fmt.Sprintf("%s KB are too little for any design that exists and keeps stacks.", Group(c.BudgetKB)))
	}
	return lines
}

// lasts says when the map of so many bits is full.
func (c *Capacity) lasts(bits int) string {
	for _, m := range c.Maps {
		if m.Bits != bits || !m.FullAtWorst.Known {
			continue
		}
		switch worst := m.FullAtWorst.String(); {
		case !m.Full.Known:
			return "is full after " + worst + " at worst"
		case m.Full == m.FullAtWorst:
			return "is full after " + worst
		default:
			return fmt.Sprintf("is full %s (at worst %s)", m.Full.words(), worst)
		}
	}
	return "may fill up at any time"
}

// sharing says what instances share.
func (c *Capacity) sharing() (lines []string) {
	for _, s := range c.Shared {
		if s.Maps > 1 {
			lines = append(lines, fmt.Sprintf("%s: %d instances have a map each, and the memory counts for each.", s.Design, s.Maps))
		} else if s.WithIDs == c.Instances {
			lines = append(lines, fmt.Sprintf("%s: one map for the whole kernel; %d instances share it, and its memory counts once.", s.Design, c.Instances))
		} else {
			lines = append(lines, fmt.Sprintf("%s: one map for the whole kernel, which only the top instance can use; the other %d record full stacks.", s.Design, c.Instances-s.WithIDs))
		}
	}
	return lines
}

// String says how long it takes until the moment: in seconds, or in events if there are no
// times.
func (m Moment) String() string {
	if m.Seconds.Known() {
		return m.Seconds.String() + " s"
	}
	return Group(m.Events) + " events"
}

// words says when the moment is.
func (m Moment) words() string {
	if m.Later {
		return "after more than " + m.String()
	}
	return "after " + m.String()
}

// cell is the moment in a table.
func (m Moment) cell() string {
	switch {
	case !m.Known:
		return "–"
	case m.Later:
		return "> " + m.String()
	}
	return m.String()
}

// Shown reports whether c says more than that nothing is known.
func (c *Capacity) Shown() bool { return c.Asked || c.Growth.Law != "" }

// Grid is a table of a Capacity; the first row is its head.
type Grid struct {
	Title string
	Rows  [][]string
}

// Tables lays out the tables of c; there are none if nothing was asked.
func (c *Capacity) Tables() (grids []Grid) {
	if !c.Asked {
		return nil
	}
	if len(c.Maps) > 0 {
		g := Grid{"How long maps last", [][]string{{"bits", "entries", "map", "drops", "full after", "at worst"}}}
		for _, m := range c.Maps {
			g.Rows = append(g.Rows, []string{fmt.Sprint(m.Bits), Group(m.Capacity), binaryBytes(m.MapBytes), fmt.Sprintf("%.2f%%", m.DropsPct), m.Full.cell(), m.FullAtWorst.cell()})
		}
		grids = append(grids, g)
	}
	if len(c.LookBack) > 0 {
		grids = append(grids, reachGrid(fmt.Sprintf("To look back %g s", c.Target), c.LookBack))
	}
	if len(c.Budget) > 0 {
		grids = append(grids, reachGrid(fmt.Sprintf("With %s KB, map included", Group(c.BudgetKB)), c.Budget))
	}
	return grids
}

func reachGrid(title string, reaches []Reach) Grid {
	g := Grid{title, [][]string{{"design", "bits", "map", "drops", "KB per CPU", "all memory", "seconds"}}}
	for _, exists := range []bool{true, false} {
		for _, r := range reaches {
			if r.Exists != exists {
				continue
			}
			name, bits := r.Design, "-"
			if !exists {
				name = "what if: " + name
			}
			if r.Bits > 0 {
				bits = fmt.Sprint(r.Bits)
			}
			kb, memory := Group(r.BufferKB), binaryBytes(r.Memory)
			if r.BufferKB == 0 {
				kb, memory = "over "+Group(MaxBufferSizeKB), "-"
			}
			if r.OthersKB > 0 {
				kb += ", others " + Group(r.OthersKB)
			}
			seconds := r.Seconds.String()
			if r.OthersSeconds.Known() {
				seconds += ", others " + r.OthersSeconds.String()
			}
			g.Rows = append(g.Rows, []string{name, bits, binaryBytes(r.MapBytes), fmt.Sprintf("%.2f%%", r.DropsPct), kb, memory, seconds})
		}
	}
	return g
}

func (t *text) capacity(r *Report) {
	c := &r.Capacity
	if !c.Shown() {
		return
	}
	title := "extrapolated at the trace's rate"
	if c.Asked && c.Rate > 0 {
		title = fmt.Sprintf("extrapolated; %s events per second", Group(uint64(c.Rate+0.5)))
	}
	t.section("Capacity", title)
	if !c.Asked {
		t.wrap("  ", "  ", c.Brief())
		return
	}
	for _, line := range c.Lines() {
		t.wrap("  ", "    ", line)
	}
	for _, g := range c.Tables() {
		t.line("")
		t.wrap("  ", "  ", g.Title+":")
		tab := newTable(g.Rows[0]...)
		for _, row := range g.Rows[1:] {
			tab.row(row...)
		}
		t.table(tab)
	}
}

func (t *text) work(r *Report) {
	t.section("Work for the stacks of an event", "counted in the replay, not timed; words of 8 bytes; loads, stores and atomic operations are of memory that CPUs share")
	tab := newTable("design", "lookups", "probes", "hashed", "atomic", "loads", "stores", "copied")
	for i := range r.Designs {
		d := &r.Designs[i]
		k, cells := &d.Work, []string{d.Name}
		for j, n := range []uint64{k.Lookups, k.Probes, k.Hashed, k.RMWs, k.Loads, k.Stores, k.Copied} {
			cell := fmt.Sprintf("%.3f", ratio(n, d.Events))
			if !k.Counted && j < 6 {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		if k.AtMost {
			cells[0] += " (at most)"
		}
		tab.row(cells...)
	}
	t.table(tab)
}
