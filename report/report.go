package report

// Schema names the version of the JSON output. Fields may be added within a
// version; none is renamed, removed or given another meaning.
const Schema = "ftracelab/estimate/3"

// Basis says where a figure comes from.
type Basis string

// The kinds of figures, from the most to the least certain.
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

// Document is the JSON output: the reports of captures and the answers for summaries,
// each in the order in which they were given.
type Document struct {
	Schema  string    `json:"schema"`
	Reports []*Report `json:"reports"`
	Fleets  []*Fleet  `json:"fleets,omitempty"`
}

// Report is the result of [Estimate], and field by field its JSON. Sizes
// are bytes; an event is a primary event; percentages go from 0 to 100 and rates
// from 0 to 1.
type Report struct {
	Input          Input          `json:"input"`
	Settings       Settings       `json:"settings"`
	Verification   Verification   `json:"verification"`
	Answer         Answer         `json:"answer"`
	Designs        []Result       `json:"designs"`
	Recommendation Recommendation `json:"recommendation"` // for the map of kernel stacks
	Sweep          []SweepPoint   `json:"sweep"`          // for the map of kernel stacks
	UserSweep      []SweepPoint   `json:"user_sweep"`     // for the map of user stacks, if a design has one
	Depths         []DepthRow     `json:"depths"`
	Growth         []GrowthPoint  `json:"growth"`                // for kernel stacks
	UserGrowth     []GrowthPoint  `json:"user_growth"`           // for user stacks
	UserStacks     *UserStacks    `json:"user_stacks,omitempty"` // if the trace has user stacks
	Capacity       Capacity       `json:"capacity"`
	TopStacks      []TopStack     `json:"top_stacks"`
	Caveats        []string       `json:"caveats"`
}

// Input says what was read.
type Input struct {
	Basis        Basis  `json:"basis"`
	Path         string `json:"path"`
	Format       string `json:"format"`
	Events       uint64 `json:"events"`
	Stacks       uint64 `json:"stacks"` // stacks of the kernel and of user space together
	UniqueStacks uint64 `json:"unique_stacks"`

	KernelStacks       uint64  `json:"kernel_stacks"`
	UniqueKernelStacks uint64  `json:"unique_kernel_stacks"`
	KernelAtLeast      bool    `json:"unique_kernel_at_least,omitempty"`
	KernelMeanDepth    float64 `json:"kernel_mean_depth"`

	UserStacks       uint64  `json:"user_stacks"`
	UniqueUserStacks uint64  `json:"unique_user_stacks"`
	UserAtLeast      bool    `json:"unique_user_at_least,omitempty"`
	UserMeanDepth    float64 `json:"user_mean_depth"`

	StackIDs uint64  `json:"stack_ids,omitempty"` // records with ids whose stack is not known; they do not count as events
	Deferred *Joined `json:"deferred,omitempty"`  // for a trace whose user stacks were deferred

	Lost    uint64  `json:"lost"`    // events that are known to be missing
	Losses  uint64  `json:"losses"`  // places where events are missing
	CPUs    int     `json:"cpus"`    // CPUs that have records
	CPUless bool    `json:"cpuless"` // the capture does not name CPUs: everything counts as one CPU's
	Seconds Seconds `json:"seconds"` // null: the capture has no times in seconds
}

// Joined says how many cookies of a trace could be joined to their user stacks.
type Joined struct {
	Cookies uint64 `json:"cookies"` // events that wait for a stack
	Stacks  uint64 `json:"stacks"`  // stacks that came
	Joined  uint64 `json:"joined"`  // cookies that found theirs
}

// Settings are the settings with which the report was made.
type Settings struct {
	BufferSizeKB int    `json:"buffer_size_kb"` // per CPU
	SubbufSize   int    `json:"subbuf_size"`
	NrPages      int    `json:"nr_pages"` // how many sub-buffers the buffer has per CPU
	Overwrite    bool   `json:"overwrite"`
	Bits         int    `json:"bits"` // the bits of all maps; 0: each as recommended
	Seed         uint32 `json:"seed"`
}

// Verification is the evidence that pages are written here as in the kernel. The pages
// of the capture are re-created from its records: with sub-buffers of the same size,
// cut where the reader took them, and with ids where the kernel wrote ids.
type Verification struct {
	PagesCompared   uint64            `json:"pages_compared"` // pages that were compared with pages of the capture
	PagesIdentical  uint64            `json:"pages_identical"`
	PagesUnmatched  uint64            `json:"pages_unmatched"`      // pages that only one side has
	PagesCut        uint64            `json:"pages_cut"`            // compared pages that a reader took before they were full
	PagesSize       int               `json:"pages_size,omitempty"` // the size of the capture's pages in bytes
	FirstDifference string            `json:"first_difference,omitempty"`
	LedgerPages     uint64            `json:"ledger_pages"` // pages of all designs that were decoded and agree with the ledger
	CPUs            []VerificationCPU `json:"cpus"`

	// Counts on the compared pages: the records of the capture, those that were
	// re-created with the same time and bytes, and the pages with records that were
	// not.
	RecordsCompared     uint64 `json:"records_compared"`
	RecordsIdentical    uint64 `json:"records_identical"`
	PagesOfOtherRecords uint64 `json:"pages_of_other_records"`
	// CaptureBytes and RecreatedBytes are the data on the compared pages, time stamps
	// included.
	CaptureBytes   uint64 `json:"capture_bytes"`
	RecreatedBytes uint64 `json:"recreated_bytes"`
}

// VerificationCPU is what per_cpu/cpuN/stats would show for the first design in a
// buffer that holds everything.
type VerificationCPU struct {
	CPU     int    `json:"cpu"`
	Entries uint64 `json:"entries"` // records, including those of stacks
	Bytes   uint64 `json:"bytes"`   // counted as in stats: records, and the tails of pages that the writer has left
	Pages   uint64 `json:"pages"`
}

// Result is the result of one design for this trace.
type Result struct {
	Name          string  `json:"name"`
	Exists        bool    `json:"exists"` // it is in Linux 6.12, or in patches that were posted
	Needs         string  `json:"needs"`  // what a kernel needs to record in this way; empty: nothing
	Basis         Basis   `json:"basis"`
	Events        uint64  `json:"events"`
	Bytes         uint64  `json:"bytes"`           // whole pages, headers and tails included
	BytesPerEvent float64 `json:"bytes_per_event"` // records and stacks, without page headers and tails
	SavingPct     float64 `json:"saving_pct"`      // how much less bytes_per_event is than with the first design

	RetainedEvents  uint64       `json:"retained_events"`  // in a buffer of buffer_size_kb, on all CPUs
	RetainedSeconds Seconds      `json:"retained_seconds"` // back to the time from which every CPU is complete; null: there are no times
	RetainedBasis   Basis        `json:"retained_basis"`
	RetainedTimes   float64      `json:"retained_times"` // retained events, as a multiple of the first design's
	RetainedCPUs    []Retention  `json:"retained_cpus"`
	Breakdown       Breakdown    `json:"breakdown"`
	MapBytes        uint64       `json:"map_bytes"` // the tables and pools of all maps of the design
	Maps            []MapUse     `json:"maps"`
	HitRate         float64      `json:"hit_rate"` // the share of stacks that were in the maps already
	Drops           uint64       `json:"drops"`    // stacks for which a map had no room
	Fallbacks       uint64       `json:"fallbacks"`
	CutUserStacks   uint64       `json:"cut_user_stacks"` // user stacks that lost addresses in this design
	TooBig          uint64       `json:"too_big"`         // records that are larger than a sub-buffer and were not written
	Fidelity        Fidelity     `json:"fidelity"`
	Why             string       `json:"why,omitempty"` // why it takes more than the first design; empty: it does not
	Deferred        *DeferredUse `json:"deferred,omitempty"`
	Net             Net          `json:"net"`
	Work            Work         `json:"work"`
}

// Retention is what one CPU's buffer still holds at the end.
type Retention struct {
	CPU     int     `json:"cpu"`
	Events  uint64  `json:"events"`
	Seconds Seconds `json:"seconds"`
	Basis   Basis   `json:"basis"`
}

// Breakdown says for what a design's bytes are used. The fields up to PageTails add up
// to its Bytes.
type Breakdown struct {
	PageHeaders  uint64 `json:"page_headers"`
	EventHeaders uint64 `json:"event_headers"` // 4 bytes for each record, and the length words
	CommonFields uint64 `json:"common_fields"`
	Payload      uint64 `json:"payload"`      // the data of events, rounded up to 4 bytes
	Stack        uint64 `json:"stack"`        // the data of stacks, ids and cookies, without header and common fields
	TimeExtends  uint64 `json:"time_extends"` // time extends and absolute stamps
	Padding      uint64 `json:"padding"`      // discarded records
	PageTails    uint64 `json:"page_tails"`

	StackRecords     uint64 `json:"stack_records"`
	StackRecordBytes uint64 `json:"stack_record_bytes"` // the records of stacks, with their headers and common fields
	AlignmentBytes   uint64 `json:"alignment_bytes"`    // the part of payload and stack that only rounds up
	Pages            uint64 `json:"pages"`
}

// MapUse is one map of a design at the end of the trace.
type MapUse struct {
	Basis       Basis          `json:"basis"`  // the basis of the byte counts
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
	Duplicates  uint64         `json:"duplicates"`   // of the entries: stacks that have another id already
	Replaced    uint64         `json:"replaced"`     // stacks that the map gave up for others
}

// DeferredUse says on what the figures for deferred user stacks are based.
type DeferredUse struct {
	Basis    Basis  `json:"basis"`
	Stays    uint64 `json:"stays"`    // stays in the kernel, with a stack record for each
	Inferred uint64 `json:"inferred"` // stays that were inferred, because the user stack was another one
	// Tied is how many events count to the stay of the task's event before them only
	// because their user stacks are equal, and Cut how many have a user stack that the
	// capture may have cut.
	Tied uint64 `json:"tied"`
	Cut  uint64 `json:"cut"`
	// The bounds of what a kernel would record, whatever is true of Tied, if no stack
	// was cut. The figures of the design itself count the fewest stays.
	LeastBytesPerEvent float64 `json:"least_bytes_per_event"`
	MostBytesPerEvent  float64 `json:"most_bytes_per_event"`
	LeastSavingPct     float64 `json:"least_saving_pct"`
	MostSavingPct      float64 `json:"most_saving_pct"`
	// CutBytesPerEvent comes to MostBytesPerEvent at most for each address that the Cut
	// stacks have lost. They may have up to CutDepth addresses.
	CutBytesPerEvent float64 `json:"cut_bytes_per_event"`
	CutDepth         int     `json:"cut_depth"`
}

// Net weighs what a design saves in the ring against what its maps take.
type Net struct {
	Basis          Basis `json:"basis"`
	SavedBytes     int64 `json:"saved_bytes"`      // bytes saved on pages, over the whole trace
	NetBytes       int64 `json:"net_bytes"`        // saved_bytes less the memory of the maps
	BufferNetBytes int64 `json:"buffer_net_bytes"` // with a full buffer: the room that full stacks would need for the same events, less the buffer and the maps
	// BreakEvenEvents is how many events pay for the maps; 0 if no number of events
	// does, and if there are no maps.
	BreakEvenEvents uint64 `json:"break_even_events"`
	// BreakEvenBufferKB is the buffer size per CPU from which on enlarging the
	// buffer by the maps' memory would have been the worse choice.
	BreakEvenBufferKB uint64 `json:"break_even_buffer_kb"`
}

// SweepPoint is the result of a map of that size for the trace's stacks of one kind;
// those of the other kind are written in full. Its bytes are records and stacks without
// page headers and tails, and its net is over this trace.
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

// Recommendation is the size of the map with which to boot; Bits 0 means that no map is
// recommended.
type Recommendation struct {
	Bits int    `json:"bits"`
	Why  string `json:"why"`
}

// DepthRow is about the kernel stacks of one depth. The last row may also stand for all
// deeper ones.
type DepthRow struct {
	Basis       Basis   `json:"basis"`
	Depth       int     `json:"depth"`
	AndDeeper   bool    `json:"and_deeper,omitempty"`
	Stacks      uint64  `json:"stacks"`
	FullBytes   float64 `json:"full_bytes"`   // mean size of a stack's record, from the pages of the first design
	MappedBytes float64 `json:"mapped_bytes"` // the same with a stackmap, fallbacks included
	SavingPct   float64 `json:"saving_pct"`   // how much less the second is than the first
	ShareOfAll  float64 `json:"share_of_saving"`
}

// GrowthPoint is the number of unique stacks after so many events and stacks.
type GrowthPoint struct {
	Events uint64 `json:"events"`
	Stacks uint64 `json:"stacks"`
	Unique uint64 `json:"unique"`
	// Seconds is the span of the times until then.
	Seconds Seconds `json:"seconds"`
}

// TopStack is one of the most frequent stacks.
type TopStack struct {
	Basis    Basis    `json:"basis"`
	Kind     string   `json:"kind"` // "kernel" or "user"
	Count    uint64   `json:"count"`
	SharePct float64  `json:"share_pct"` // its share of the stacks of its kind
	Depth    int      `json:"depth"`
	Bytes    uint64   `json:"bytes"`  // what its records take in full
	Saved    uint64   `json:"saved"`  // how many of Bytes ids in their place save, if a map has room for the stack
	Frames   []string `json:"frames"` // the innermost first; empty if they were not kept
}

// onlyIDs reports whether all kernel stacks of the trace are ids that nobody can look
// up.
func (in *Input) onlyIDs() bool { return in.StackIDs > 0 && in.KernelStacks == 0 }
