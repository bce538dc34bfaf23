package html

import (
	"cmp"
	"fmt"
	"slices"

	"ftracelab/internal/plain"
	"ftracelab/report"
	"ftracelab/ringbuf"
)

// whatIf is the part of the page with the sliders. Without its script it shows the
// settings of the report.
type whatIf struct {
	ID, Lead string
	Stops    stops
	Model    any // what the script recomputes from, a model or a fleetModel
	Table    table
}

// stops are where the sliders can stand, and where they stand at first.
type stops struct {
	Buffers []uint64 `json:"buffers"` // KB per CPU
	Buffer  int      `json:"buffer"`  // the one of the report, an index
	Bits    []int    `json:"bits"`    // of the map
	Chosen  int      `json:"chosen"`  // the one of the report, an index
}

// model is what the script recomputes from (recompute in whatif.js), in the form in which
// it is embedded.
type model struct {
	stops
	CPUs       int           `json:"cpus"`
	Subbuf     int           `json:"subbuf"`
	PageHeader int           `json:"pageHeader"`
	Rate       float64       `json:"rate"` // events per second; 0: unknown
	Sizes      []report.Size `json:"sizes"`
}

// newWhatIf is nil if there is nothing to compute.
func newWhatIf(id string, r *report.Report) *whatIf {
	if len(r.Capacity.Sizes) == 0 {
		return nil
	}
	m := newModel(r)
	w := &whatIf{ID: id, Stops: m.stops, Model: m, Lead: "From the mean number of events on a page, for one instance"}
	if m.Rate > 0 {
		w.Lead += fmt.Sprintf(", at %s events per second", report.Group(uint64(m.Rate+0.5)))
	}
	w.Lead += ". Events and seconds go back to where every CPU is complete. The memory is that of all buffers and of the maps."
	if len(r.UserSweep) > 0 {
		w.Lead += " The bits are those of the map of kernel stacks; a map of user stacks stays as it is."
	}
	w.Table = table{
		Caption: fmt.Sprintf("With %s", m.setting()),
		Head:    []string{"design", "bits", "events", "seconds", "stacks dropped", "maps", "all memory"},
	}
	for _, s := range m.at() {
		w.Table.add(whatIfCells(s, r.At(s, m.Buffers[m.Buffer]))...)
	}
	return w
}

func newModel(r *report.Report) model {
	m := model{CPUs: r.Input.CPUs, Subbuf: r.Settings.SubbufSize, PageHeader: ringbuf.PageHeaderSize, Rate: r.Capacity.Rate}
	own := uint64(r.Settings.BufferSizeKB)
	m.Buffers = report.BuffersKB(own)
	m.Buffer = slices.Index(m.Buffers, own)
	for _, s := range r.Capacity.Sizes {
		s.Design = plain.String(s.Design)
		m.Sizes = append(m.Sizes, s)
		if s.Bits > 0 {
			m.Bits = append(m.Bits, s.Bits)
		}
	}
	slices.Sort(m.Bits)
	m.Bits = slices.Compact(m.Bits)
	m.Chosen = max(0, slices.Index(m.Bits, cmp.Or(r.Answer.Bits, r.Recommendation.Bits)))
	return m
}

// LastBuffer and LastBits are where the sliders end.
func (s stops) LastBuffer() int { return len(s.Buffers) - 1 }
func (s stops) LastBits() int   { return len(s.Bits) - 1 }

// setting says what the sliders are set to at first.
func (s stops) setting() string {
	text := fmt.Sprintf("%s KB per CPU", report.Group(s.Buffers[s.Buffer]))
	if len(s.Bits) > 0 {
		text += fmt.Sprintf(", bits=%d", s.Bits[s.Chosen])
	}
	return text
}

// at gives the size of each design at the chosen bits. The sizes of a design follow each
// other, with more and more bits. A design whose bits are fixed has one size only.
func (m *model) at() (sizes []*report.Size) {
	for i := range m.Sizes {
		s := &m.Sizes[i]
		if i == 0 || s.Design != m.Sizes[i-1].Design || s.Bits <= m.Sizes[i-1].Bits {
			sizes = append(sizes, s)
		} else if s.Bits <= m.Bits[m.Chosen] {
			sizes[len(sizes)-1] = s
		}
	}
	return sizes
}

// whatIfCells is a row of the table.
func whatIfCells(s *report.Size, r report.Reach) []string {
	name, bits, drops := s.Design, "–", "–"
	if !s.Exists {
		name = "what if: " + name
	}
	if s.Bits > 0 {
		bits, drops = fmt.Sprint(s.Bits), fmt.Sprintf("%.2f %%", r.DropsPct)
	}
	return []string{
		name, bits, report.Group(r.Events), r.Seconds.String(), drops,
		report.Group(r.MapBytes/1024) + " KiB", report.Group(r.Memory/1024) + " KiB",
	}
}
