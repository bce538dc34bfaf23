package report

// retention keeps track of what a buffer of nrPages sub-buffers would still hold.
//
// Where the pages of a trace end does not depend on how many of them a buffer keeps. A
// ring in overwrite mode holds the last nrPages, including the one that is being
// written; without overwriting, it holds the first nrPages. So one pass over all pages
// tells what any buffer retains, and the trace need not be written into each of them.
//
// Kernel: rb_move_tail and rb_handle_head_page, kernel/trace/ring_buffer.c.
type retention struct {
	nrPages   int
	overwrite bool

	ring        []pageSpan // the last nrPages; once it is full, the oldest is at next
	next        int
	pages       uint64
	events      uint64 // how many events are in ring
	kept        uint64 // how many events are on the first nrPages
	keptTill    uint64
	fullPages   uint64  // how many pages the writer has left
	fullEvents  uint64  // how many events are on these
	filled      float64 // how many pages full of records the trace has written
	first, last uint64  // time stamps
	totalEvents uint64
}

// pageSpan is one page of the window.
type pageSpan struct {
	events uint64
	first  uint64 // time stamp of the page
}

func newRetention(nrPages int, overwrite bool) *retention {
	return &retention{nrPages: nrPages, overwrite: overwrite}
}

// page adds the next page of the trace: its time stamp, the time of its last
// record, the events on it, which part of it has records, and whether the writer has left it.
func (k *retention) page(first, last, events uint64, part float64, full bool) {
	if k.pages == 0 {
		k.first = first
	}
	k.last = max(k.last, last)
	k.pages++
	k.totalEvents += events
	k.filled += part
	if full {
		k.fullPages++
		k.fullEvents += events
	}
	if k.pages <= uint64(k.nrPages) {
		k.kept += events
		k.keptTill = k.last
	}
	span := pageSpan{events: events, first: first}
	k.events += events
	if len(k.ring) < k.nrPages {
		k.ring = append(k.ring, span)
		return
	}
	k.events -= k.ring[k.next].events
	k.ring[k.next] = span
	k.next = (k.next + 1) % k.nrPages
}

// held computes what the buffer retains of a trace that ends at end.
//
// A trace that does not fill the buffer only tells the mean number of events per page.
// The buffer is then assumed to hold that many events on each page, except for the last
// one, which is half full on average, and to reach back as long as these events take.
func (k *retention) held(start, end uint64) retained {
	switch {
	case k.totalEvents == 0:
		return retained{Basis: Replayed}
	case k.pages >= uint64(k.nrPages) && k.overwrite:
		return retained{events: float64(k.events), seconds: seconds(k.ring[k.next].first, end), Basis: Replayed}
	case k.pages >= uint64(k.nrPages):
		return retained{events: float64(k.kept), seconds: seconds(k.first, k.keptTill), Basis: Replayed}
	}
	r := retained{events: k.perPage() * (float64(k.nrPages) - 0.5), Basis: Extrapolated}
	r.seconds = seconds(start, end) * r.events / float64(k.totalEvents)
	return r
}

// perPage is the mean number of events on a page that the writer has left. If it has left
// none, the page that it was writing tells how many would fill it.
func (k *retention) perPage() float64 {
	if k.fullPages > 0 {
		return float64(k.fullEvents) / float64(k.fullPages)
	}
	return float64(k.totalEvents) / k.filled
}

// retained is what a buffer holds of one CPU's trace.
type retained struct {
	events, seconds float64
	Basis           Basis
}

func seconds(from, to uint64) float64 {
	if to < from {
		return 0
	}
	return float64(to-from) / 1e9
}
