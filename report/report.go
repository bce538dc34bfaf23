package report

// Schema names the version of the JSON output. Fields may be added within a
// version; none is renamed, removed or given another meaning.
const Schema = "ftracelab/estimate/2"

// Basis says where a figure comes from.
type Basis string

// The kinds of figures, from the hardest to the softest.
const (
	// Measured: counted in the trace that was read.
	Measured Basis = "measured"
	// Replayed: counted on pages that the trace's records were written to again.
	Replayed Basis = "replayed"
	// Extrapolated: what was replayed, projected to a buffer that the trace
	// does not fill.
	Extrapolated Basis = "extrapolated"
	// Assumed: taken from the layout of a structure, or from a proposal that
	// has not been merged.
	Assumed Basis = "assumed"
)

// Report is the result of [Estimate] and, field by field, the JSON output. Sizes
// are bytes; an event is a primary event; percentages go from 0 to 100 and rates
// from 0 to 1.
type Report struct {
	Schema         string         `json:"schema"`
	Input          Input          `json:"input"`
	Settings       Settings       `json:"settings"`
	Verification   Verification   `json:"verification"`
	Answer         Answer         `json:"answer"`
	Designs        []Result       `json:"designs"`
	Recommendation Recommendation `json:"recommendation"` // of the map of kernel stacks
	Sweep          []SweepPoint   `json:"sweep"`          // of the map of kernel stacks
	UserSweep      []SweepPoint   `json:"user_sweep"`     // of the map of user stacks, if a design has one
	Depths         []DepthRow     `json:"depths"`
	Growth         []GrowthPoint  `json:"growth"`      // of kernel stacks
	UserGrowth     []GrowthPoint  `json:"user_growth"` // of user stacks
	TopStacks      []TopStack     `json:"top_stacks"`
	Caveats        []string       `json:"caveats"`
}

// Input is what was read.
type Input struct {
	Basis        Basis  `json:"basis"`
	Path         string `json:"path"`
	Format       string `json:"format"`
	Events       uint64 `json:"events"`
	Stacks       uint64 `json:"stacks"` // of the kernel and of user space
	UniqueStacks uint64 `json:"unique_stacks"`

	KernelStacks       uint64  `json:"kernel_stacks"`
	UniqueKernelStacks uint64  `json:"unique_kernel_stacks"`
	KernelAtLeast      bool    `json:"unique_kernel_at_least,omitempty"`
	KernelMeanDepth    float64 `json:"kernel_mean_depth"`

	UserStacks       uint64  `json:"user_stacks"`
	UniqueUserStacks uint64  `json:"unique_user_stacks"`
	UserAtLeast      bool    `json:"unique_user_at_least,omitempty"`
	UserMeanDepth    float64 `json:"user_mean_depth"`

	StackIDs uint64  `json:"stack_ids,omitempty"` // records of ids whose stack is not known; they are no events
	Deferred *Joined `json:"deferred,omitempty"`  // of a trace whose user stacks were deferred

	Lost    uint64  `json:"lost"`    // events known to be missing
	Losses  uint64  `json:"losses"`  // places where some are
	CPUs    int     `json:"cpus"`    // that have records
	CPUless bool    `json:"cpuless"` // the capture names no CPUs: all is taken for one's
	Seconds Seconds `json:"seconds"` // null: the capture has no times
}

// Joined says how the cookies of a trace found the user stacks they stand for.
type Joined struct {
	Cookies uint64 `json:"cookies"` // events that wait for a stack
	Stacks  uint64 `json:"stacks"`  // stacks that came
	Joined  uint64 `json:"joined"`  // cookies that found theirs
}

// Settings are what the report was asked for.
type Settings struct {
	BufferSizeKB int    `json:"buffer_size_kb"` // per CPU
	SubbufSize   int    `json:"subbuf_size"`
	NrPages      int    `json:"nr_pages"` // sub-buffers per CPU the buffer has
	Overwrite    bool   `json:"overwrite"`
	Bits         int    `json:"bits"` // of all maps; 0: each as recommended
	Seed         uint32 `json:"seed"`
}

// Verification is the evidence that the pages counted are the kernel's: what the
// capture's own kernel wrote is written again, in sub-buffers of its size and cut
// where its reader took them, with ids where it wrote ids.
type Verification struct {
	PagesCompared   uint64            `json:"pages_compared"` // with pages of the capture
	PagesIdentical  uint64            `json:"pages_identical"`
	PagesUnmatched  uint64            `json:"pages_unmatched"`      // that only one side has
	PagesCut        uint64            `json:"pages_cut"`            // of those compared, a reader took before they were full
	PagesSize       int               `json:"pages_size,omitempty"` // bytes of a page of the capture
	FirstDifference string            `json:"first_difference,omitempty"`
	LedgerPages     uint64            `json:"ledger_pages"` // of all designs, decoded and equal to the ledger
	CPUs            []VerificationCPU `json:"cpus"`

	// Counted on the pages compared: the records of the capture, those of them
	// that were re-created with the same time and bytes, and the pages with
	// records that were not.
	RecordsCompared     uint64 `json:"records_compared"`
	RecordsIdentical    uint64 `json:"records_identical"`
	PagesOfOtherRecords uint64 `json:"pages_of_other_records"`
	// CaptureBytes and RecreatedBytes are the data on them, time stamps included.
	CaptureBytes   uint64 `json:"capture_bytes"`
	RecreatedBytes uint64 `json:"recreated_bytes"`
}

// VerificationCPU is what per_cpu/cpuN/stats would show for the first design in a
// buffer that holds everything.
type VerificationCPU struct {
	CPU     int    `json:"cpu"`
	Entries uint64 `json:"entries"` // records, stacks' own included
	Bytes   uint64 `json:"bytes"`   // as stats has them: records, and the tails of pages the writer has left
	Pages   uint64 `json:"pages"`
}

// Result is one design on this trace.
type Result struct {
	Name          string  `json:"name"`
	Exists        bool    `json:"exists"` // in Linux 6.12, or as patches that were posted
	Needs         string  `json:"needs"`  // what a kernel needs to record so; empty: nothing
	Basis         Basis   `json:"basis"`
	Events        uint64  `json:"events"`
	Bytes         uint64  `json:"bytes"`           // whole pages, headers and tails included
	BytesPerEvent float64 `json:"bytes_per_event"` // records and stacks, without page headers and tails
	SavingPct     float64 `json:"saving_pct"`      // of bytes_per_event against the first design

	RetainedEvents  uint64       `json:"retained_events"`  // in a buffer of buffer_size_kb, all CPUs
	RetainedSeconds Seconds      `json:"retained_seconds"` // back to where every CPU is complete; null: no times
	RetainedBasis   Basis        `json:"retained_basis"`
	RetainedTimes   float64      `json:"retained_times"` // events, as a multiple of the first design's
	RetainedCPUs    []Retention  `json:"retained_cpus"`
	Breakdown       Breakdown    `json:"breakdown"`
	MapBytes        uint64       `json:"map_bytes"` // table and pool of all the design's maps
	Maps            []MapUse     `json:"maps"`
	HitRate         float64      `json:"hit_rate"` // of the stacks asked for, those the maps had
	Drops           uint64       `json:"drops"`    // stacks a map had no room for
	Fallbacks       uint64       `json:"fallbacks"`
	CutUserStacks   uint64       `json:"cut_user_stacks"` // that lost addresses in this design
	TooBig          uint64       `json:"too_big"`         // records larger than a sub-buffer, not written
	Fidelity        Fidelity     `json:"fidelity"`
	Why             string       `json:"why,omitempty"` // it takes more than the first design
	Deferred        *DeferredUse `json:"deferred,omitempty"`
	Net             Net          `json:"net"`
}

// Retention is what one CPU's buffer still holds at the end.
type Retention struct {
	CPU     int     `json:"cpu"`
	Events  uint64  `json:"events"`
	Seconds Seconds `json:"seconds"`
	Basis   Basis   `json:"basis"`
}

// Breakdown says where a design's bytes lie; the fields up to PageTails add up to
// its Bytes.
type Breakdown struct {
	PageHeaders  uint64 `json:"page_headers"`
	EventHeaders uint64 `json:"event_headers"` // 4 bytes a record, and the length words
	CommonFields uint64 `json:"common_fields"`
	Payload      uint64 `json:"payload"`      // of events, rounded up to 4
	Stack        uint64 `json:"stack"`        // of stacks, ids and cookies, without header and common fields
	TimeExtends  uint64 `json:"time_extends"` // and absolute stamps
	Padding      uint64 `json:"padding"`      // discarded records
	PageTails    uint64 `json:"page_tails"`

	StackRecords     uint64 `json:"stack_records"`
	StackRecordBytes uint64 `json:"stack_record_bytes"` // with their headers and common fields
	AlignmentBytes   uint64 `json:"alignment_bytes"`    // of payload and stack, what only rounds up
	Pages            uint64 `json:"pages"`
}

// MapUse is one map of a design at the end of the trace.
type MapUse struct {
	Basis       Basis          `json:"basis"`  // of the byte counts
	Stacks      string         `json:"stacks"` // "kernel" or "user"
	Preset      string         `json:"preset"`
	Bits        int            `json:"bits"`
	Recommended Recommendation `json:"recommended"`
	Entries     uint64         `json:"entries"`
	Capacity    uint64         `json:"capacity"`
	TableSize   uint64         `json:"table_size"`
	Successes   uint64         `json:"successes"`
	Drops       uint64         `json:"drops"`
	TableBytes  uint64         `json:"table_bytes"`
	PoolBytes   uint64         `json:"pool_bytes"`
	ExportBytes uint64         `json:"export_bytes"` // while stack_map_bin is open
}

// DeferredUse is what deferred user stacks rest on.
type DeferredUse struct {
	Basis    Basis  `json:"basis"`
	Stays    uint64 `json:"stays"`    // in the kernel, a stack record each
	Inferred uint64 `json:"inferred"` // of these, seen only by another user stack
}

// Net weighs what a design saves in the ring against what its maps take.
type Net struct {
	Basis          Basis `json:"basis"`
	SavedBytes     int64 `json:"saved_bytes"`      // on pages, over the whole trace
	NetBytes       int64 `json:"net_bytes"`        // less the maps
	BufferNetBytes int64 `json:"buffer_net_bytes"` // of a full buffer: the room full stacks would need for the same events, less the buffer and the maps
	// BreakEvenEvents is how many events pay for the maps, 0 if none ever do;
	// without maps it is 0 as well.
	BreakEvenEvents uint64 `json:"break_even_events"`
	// BreakEvenBufferKB is the buffer size per CPU from which on enlarging the
	// buffer by the maps' memory would have been the worse choice.
	BreakEvenBufferKB uint64 `json:"break_even_buffer_kb"`
}

// SweepPoint is what a map of that size makes of the trace's stacks of one kind, those
// of the other kind being written in full. Its bytes are records and stacks without
// page headers and tails, its net is over this trace.
type SweepPoint struct {
	Basis         Basis   `json:"basis"`
	Bits          int     `json:"bits"`
	Entries       uint64  `json:"entries"`
	Capacity      uint64  `json:"capacity"`
	TableSize     uint64  `json:"table_size"`
	PoolPct       float64 `json:"pool_pct"`
	TablePct      float64 `json:"table_pct"`
	HitRate       float64 `json:"hit_rate"`
	Drops         uint64  `json:"drops"`
	Fallbacks     uint64  `json:"fallbacks"`
	BytesPerEvent float64 `json:"bytes_per_event"`
	SavingPct     float64 `json:"saving_pct"`
	MapBytes      uint64  `json:"map_bytes"`
	NetBytes      int64   `json:"net_bytes"`
}

// Recommendation is the size of map to boot with; Bits 0 means none at all.
type Recommendation struct {
	Bits int    `json:"bits"`
	Why  string `json:"why"`
}

// DepthRow is the kernel stacks of one depth; the last row may stand for all
// deeper ones too.
type DepthRow struct {
	Basis       Basis   `json:"basis"`
	Depth       int     `json:"depth"`
	AndDeeper   bool    `json:"and_deeper,omitempty"`
	Stacks      uint64  `json:"stacks"`
	FullBytes   float64 `json:"full_bytes"`   // mean of the stack's record, from the first design's pages
	MappedBytes float64 `json:"mapped_bytes"` // the same with a stackmap, fallbacks included
	SavingPct   float64 `json:"saving_pct"`   // of the two
	ShareOfAll  float64 `json:"share_of_saving"`
}

// GrowthPoint is the number of unique stacks after so many events and stacks.
type GrowthPoint struct {
	Events uint64 `json:"events"`
	Stacks uint64 `json:"stacks"`
	Unique uint64 `json:"unique"`
}

// TopStack is one of the most frequent stacks.
type TopStack struct {
	Basis    Basis    `json:"basis"`
	Kind     string   `json:"kind"` // "kernel" or "user"
	Count    uint64   `json:"count"`
	SharePct float64  `json:"share_pct"` // of the stacks of its kind
	Depth    int      `json:"depth"`
	Bytes    uint64   `json:"bytes"`  // its full records took
	Frames   []string `json:"frames"` // innermost first; empty if they were not kept
}

// onlyIDs says that all kernel stacks of the trace are ids nobody can look up.
func (in *Input) onlyIDs() bool { return in.StackIDs > 0 && in.KernelStacks == 0 }
