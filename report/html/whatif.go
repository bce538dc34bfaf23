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
	Model    model
	Table    table
}

// model is what the script recomputes from (recompute in whatif.js), in the form in which
// it is embedded.
type model struct {
	CPUs       int           `json:"cpus"`
	Subbuf     int           `json:"subbuf"`
	PageHeader int           `json:"pageHeader"`
	Rate       float64       `json:"rate"`    // events per second; 0: unknown
	Buffers    []uint64      `json:"buffers"` // the KB per CPU at which the slider stops
	Buffer     int           `json:"buffer"`  // the one of the report, an index
	Bits       []int         `json:"bits"`    // the sizes of maps at which the slider stops
	Chosen     int           `json:"chosen"`  // the one of the report, an index
	Sizes      []report.Size `json:"sizes"`
}

// The buffers that can be chosen besides that of the report.
const (
	leastBufferKB = 64
	mostBufferKB  = 1 << 20
)

// newWhatIf is nil if there is nothing to compute.
func newWhatIf(id string, r *report.Report) *whatIf {
	if len(r.Capacity.Sizes) == 0 {
		return nil
	}
	m := model{CPUs: r.Input.CPUs, Subbuf: r.Settings.SubbufSize, PageHeader: ringbuf.PageHeaderSize, Rate: r.Capacity.Rate}
	own := uint64(r.Settings.BufferSizeKB)
	m.Buffers = []uint64{own}
	for kb := uint64(leastBufferKB); kb <= mostBufferKB; kb *= 2 {
		m.Buffers = append(m.Buffers, kb)
	}
	slices.Sort(m.Buffers)
	m.Buffers = slices.Compact(m.Buffers)
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

	w := &whatIf{ID: id, Model: m, Lead: "From the mean number of events on a page, for one instance"}
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
		w.Table.add(whatIfCells(s, r.At(s, own))...)
	}
	return w
}

// LastBuffer and LastBits are where the sliders end.
func (m model) LastBuffer() int { return len(m.Buffers) - 1 }
func (m model) LastBits() int   { return len(m.Bits) - 1 }

// setting says what the sliders are set to at first.
func (m *model) setting() string {
	s := fmt.Sprintf("%s KB per CPU", report.Group(m.Buffers[m.Buffer]))
	if len(m.Bits) > 0 {
		s += fmt.Sprintf(", bits=%d", m.Bits[m.Chosen])
	}
	return s
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
