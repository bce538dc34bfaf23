package report

// Size is a design with a map of some size, and what [Report.At] needs to know of it.
type Size struct {
	Design        string  `json:"design"`
	Exists        bool    `json:"exists"`
	Bits          int     `json:"bits"`      // of its map of kernel stacks; 0: it has none
	MapBytes      uint64  `json:"map_bytes"` // the memory of all its maps
	DropsPct      float64 `json:"drops_pct"` // the share of the kernel stacks for which the map has no room
	PagesPerEvent float64 `json:"pages_per_event"`
}

// At says how far back one instance looks with s and buffers of kb KB on each CPU, and
// what memory that takes. It counts with the mean number of events on a page and the rate
// of the Capacity; the last page is half full on average.
func (r *Report) At(s *Size, kb uint64) Reach {
	reach := Reach{Design: s.Design, Exists: s.Exists, Bits: s.Bits, MapBytes: s.MapBytes, DropsPct: s.DropsPct, BufferKB: kb, Seconds: Unknown, OthersSeconds: Unknown}
	subbuf := uint64(r.Settings.SubbufSize)
	pages := pagesOf(kb, subbuf)
	reach.Memory = s.MapBytes + uint64(r.Input.CPUs)*(pages+readerPages)*subbuf
	if s.PagesPerEvent == 0 {
		return reach
	}
	events := (float64(pages) - 0.5) / s.PagesPerEvent
	reach.Events = uint64(events)
	if r.Capacity.Rate > 0 {
		reach.Seconds = Seconds(round6(events / r.Capacity.Rate))
	}
	return reach
}
