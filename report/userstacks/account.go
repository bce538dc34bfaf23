// Package userstacks compares the ways to record the user stacks of a trace: copying a
// piece of the user's stack with each event, walking it at each event, and walking it once
// for each stay in the kernel. An [Account] adds up what each of them writes and does for
// the same stacks. [Law] says from how many events per stay on the last way pays.
//
// Of a stack only its own records count; the events are the same in every design.
package userstacks

import (
	"fmt"

	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// Sizes, in bytes, of the data of records, common fields included.
const (
	walkedData  = event.CommonSize + 72          // user_stack: tgid, hole, 8 addresses
	cookieData  = event.CommonSize + 8           // user_unwind_cookie
	unwoundData = event.CommonSize + 8 + 3*4 + 4 // user_unwind_stack, without its arrays, to a multiple of 8
	bareData    = event.CommonSize + 8 + 4 + 4   // the same with one array
	namedData   = event.CommonSize + 8 + 4 + 4   // a cookie and the id of a stack
	frameBytes  = 8 + 8 + 4                      // of an address with inode and device
	bareFrame   = 8                              // of an address alone
	walkedDepth = 8                              // addresses in a user_stack
	smallCopy   = 8 << 10                        // PERF_SAMPLE_STACK_USER with the default size
	largeCopy   = 65528                          // the most that perf accepts
	copyFrame   = 8 + 8                          // the sizes before and after a copy
	mapElement  = 8 + mapDepth*frameBytes        // length, count, and addresses with their files
	mapDepth    = 64                             // addresses of a stack in a map
)

// unwound is what the stack of a stay takes in the ring buffer.
func unwound(depth int) uint64 { return uint64(ringbuf.EventSize(unwoundData + depth*frameBytes)) }

// bare is the same without inodes and devices.
func bare(depth int) uint64 { return uint64(ringbuf.EventSize(bareData + depth*bareFrame)) }

var (
	walkedBytes = uint64(ringbuf.EventSize(walkedData))
	cookieBytes = uint64(ringbuf.EventSize(cookieData))
	namedBytes  = uint64(ringbuf.EventSize(namedData))
)

// Account adds up the user stacks of one trace.
type Account struct {
	stacks *record.Stacks // knows the stays

	events, stays            uint64
	walked, whole            uint64 // addresses of the innermost 8 of all events; how many events have no more
	stayAddresses, stayWhole uint64 // of the stacks of all stays
	unwound, bare            uint64 // bytes of the stacks of all stays
	unique                   map[uint64]struct{}
	lost, empty              uint64
}

// maxUnique is how many different stacks are told apart, four times what the largest map
// holds.
const maxUnique = 1 << 20

// New returns an empty account.
func New() *Account {
	s, err := record.NewStacks(record.Design{Name: "deferred", User: record.DeferredStack}, record.CatalogueIDs())
	if err != nil {
		panic("userstacks: invariant: " + err.Error())
	}
	return &Account{stacks: s, unique: map[uint64]struct{}{}}
}

// Add adds the user stack of an event. The account keeps nothing of it.
func (a *Account) Add(s *record.Stack) {
	if len(s.IPs) == 0 {
		return
	}
	n := len(s.IPs)
	a.events++
	a.walked += uint64(min(n, walkedDepth))
	if n <= walkedDepth {
		a.whole++
	}
	if !a.stacks.FirstOfStay(s) {
		return
	}
	a.stays++
	a.stayAddresses += uint64(n)
	if n <= mapDepth {
		a.stayWhole++
	}
	a.unwound += unwound(n)
	a.bare += bare(n)
	h := uint64(n)
	for _, ip := range s.IPs {
		h = (h ^ ip) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	if _, ok := a.unique[h]; !ok && len(a.unique) < maxUnique {
		a.unique[h] = struct{}{}
	}
}

// Without adds events whose stack is not known: lost have a cookie, but their stack did not
// come; empty have no cookie, as kernel threads. Walking at each event, ftrace writes the
// record of a stack for both, that of a kernel thread with zeros.
//
// Kernel: ftrace_trace_userstack, kernel/trace/trace.c, asks only whether it is in an NMI.
func (a *Account) Without(lost, empty uint64) { a.lost, a.empty = lost, empty }

// Row is one way to record user stacks.
type Row struct {
	Name     string  `json:"name"`
	What     string  `json:"what"`
	Exists   bool    `json:"exists"` // some kernel does it, in ftrace or in perf
	Bytes    uint64  `json:"bytes"`  // of the records that stacks, cookies and ids take in the ring buffer
	PerEvent float64 `json:"bytes_per_event"`
	// SavingPct is how much less than walking at every event it takes.
	SavingPct float64 `json:"saving_pct"`
	Walks     uint64  `json:"walks"`         // of user stacks
	Read      uint64  `json:"words_read"`    // of user memory: two for each address of a walk, all for a copy
	Written   uint64  `json:"words_written"` // into the ring buffer
	Lookups   uint64  `json:"map_lookups"`
	MapBytes  uint64  `json:"map_bytes"`
	Bits      int     `json:"map_bits,omitempty"`
	LostJoins uint64  `json:"lost_joins"` // events whose stack did not come, or was overwritten
	// WholePct is the share of stacks of which all addresses are kept. A copy keeps what a
	// walk of the copied bytes finds later, which no trace tells: there it is 100.
	WholePct float64 `json:"whole_pct"`
}

// Rows are the designs. SavingPct compares them with walk.
func (a *Account) Rows() []Row {
	n := a.events + a.lost // that have a cookie
	walk := (n + a.empty) * walkedBytes
	mapBits, mapBytes := a.userMap()
	rows := []Row{
		{Name: "copy-8k", What: "8 KiB of the user's stack with each event (perf --call-graph dwarf)", Exists: true, Bytes: n * copied(smallCopy), Read: n * smallCopy / 8, WholePct: 100},
		{Name: "copy-64k", What: "65,528 bytes, the most that perf accepts", Exists: true, Bytes: n * copied(largeCopy), Read: n * largeCopy / 8, WholePct: 100},
		{Name: "walk", What: "up to 8 addresses with each event (options/userstacktrace)", Exists: true, Bytes: walk, Walks: n, Read: 2 * a.walked, WholePct: share(a.whole, a.events)},
		{Name: "deferred", What: "a cookie with each event, the stack once for each stay (options/userstacktrace_delay)", Exists: true, Bytes: n*cookieBytes + a.unwound, Walks: a.stays, Read: 2 * a.stayAddresses, LostJoins: a.lost, WholePct: 100},
		{Name: "deferred-stackmap", What: "the same, and the stack as the id of a map of user stacks", Bytes: n*cookieBytes + a.stays*namedBytes, Walks: a.stays, Read: 2 * a.stayAddresses, Lookups: a.stays, MapBytes: mapBytes, Bits: mapBits, LostJoins: a.lost, WholePct: share(a.stayWhole, a.stays)},
		{Name: "deferred-addresses", What: "deferred, without inode and device of each address", Bytes: n*cookieBytes + a.bare, Walks: a.stays, Read: 2 * a.stayAddresses, LostJoins: a.lost, WholePct: 100},
	}
	for i := range rows {
		r := &rows[i]
		r.PerEvent = ratio(r.Bytes, n)
		r.Written = (r.Bytes + 7) / 8
		if walk > 0 {
			r.SavingPct = 100 * (1 - float64(r.Bytes)/float64(walk))
		}
	}
	return rows
}

// copied is what a copy of that many bytes takes.
func copied(bytes int) uint64 { return uint64(ringbuf.EventSize(event.CommonSize + copyFrame + bytes)) }

// userMap is the smallest map that is at most half full, and its memory. Its stacks have
// the inode and the device of each address, as otherwise those of two programs would be
// one.
func (a *Account) userMap() (bits int, bytes uint64) {
	if a.stays == 0 {
		return 0, 0
	}
	bits = stackmap.MinBits
	for bits < stackmap.MaxBits && 1<<bits < 2*len(a.unique) {
		bits++
	}
	const slot = 16 // key and pointer
	return bits, 1<<bits*mapElement + 2<<bits*slot
}

// Law says how the bytes of deferred stacks depend on the workload. With k events per stay
// and stacks of n addresses, an event takes
//
//	walk      84
//	deferred  20 + E(32 + 20 n) / k
//
// bytes, where E adds the header of the ring buffer. So deferring pays if k is greater than
// E(32 + 20 n) / (84 - 20).
type Law struct {
	Events        uint64  `json:"events"`
	Stays         uint64  `json:"stays"`
	EventsPerStay float64 `json:"events_per_stay"`
	Depth         float64 `json:"depth"` // addresses of the stack of a stay, on average
	// WalkBytes and CookieBytes are what an event takes, the others what a stay takes, on
	// average.
	WalkBytes   uint64  `json:"walk_bytes"`
	CookieBytes uint64  `json:"cookie_bytes"`
	StackBytes  float64 `json:"stack_bytes"`
	BareBytes   float64 `json:"bare_bytes"` // without inode and device
	IDBytes     uint64  `json:"id_bytes"`   // as the id of a map
	// From how many events per stay on each way takes less than walking.
	PaysFrom     float64 `json:"pays_from"`
	BarePaysFrom float64 `json:"bare_pays_from"`
	IDPaysFrom   float64 `json:"id_pays_from"`
}

// Law computes the law for the stacks of the account.
func (a *Account) Law() Law {
	l := Law{
		Events: a.events, Stays: a.stays, EventsPerStay: ratio(a.events, a.stays), Depth: ratio(a.stayAddresses, a.stays),
		WalkBytes: walkedBytes, CookieBytes: cookieBytes, StackBytes: ratio(a.unwound, a.stays), BareBytes: ratio(a.bare, a.stays), IDBytes: namedBytes,
	}
	l.PaysFrom, l.BarePaysFrom, l.IDPaysFrom = paysFrom(l.StackBytes), paysFrom(l.BareBytes), paysFrom(float64(namedBytes))
	return l
}

// PaysFrom is the law for stacks of that many addresses: from how many events per stay on
// deferred stacks take fewer bytes than walking at each event.
func PaysFrom(depth int) int { return int(paysFrom(float64(unwound(depth)))) + 1 }

func paysFrom(stackBytes float64) float64 { return stackBytes / float64(walkedBytes-cookieBytes) }

// Sentence is what to remember of the law.
func (l *Law) Sentence() string {
	if l.Stays == 0 {
		return "There are no user stacks."
	}
	what := "pays"
	if l.EventsPerStay < l.PaysFrom {
		what = "costs bytes"
	}
	return fmt.Sprintf("Deferring %s here: a stay has %.2f events, and with stacks of %.1f addresses it takes more than %.2f "+
		"(without inode and device more than %.2f, with a map of user stacks more than %.2f).",
		what, l.EventsPerStay, l.Depth, l.PaysFrom, l.BarePaysFrom, l.IDPaysFrom)
}

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func share(a, b uint64) float64 { return 100 * ratio(a, b) }
