package tracedat

// magic is the beginning of every trace.dat. The version follows it as text.
const magic = "\x17\x08\x44tracing"

// Versions of the file.
const (
	Version6 = 6
	Version7 = 7
)

// Ids of options. From HeaderInfo on, they are also the ids of the sections to which
// the options lead. The options themselves are in sections with the id OptionDone.
const (
	OptionDone       = 0  // version 7: the u64 offset of more options; 0: there are none
	OptionDate       = 1  // text, 0x…: µs that are added to all times
	OptionCPUStat    = 2  // "CPU: n", then per_cpu/cpuN/stats
	OptionBuffer     = 3  // see Buffer
	OptionTraceClock = 4  // the text of trace_clock
	OptionUname      = 5  // text
	OptionHook       = 6  // text
	OptionOffset     = 7  // text: ns that are added to all times
	OptionCPUCount   = 8  // u32
	OptionVersion    = 9  // text: the version of trace-cmd
	OptionProcMaps   = 10 // text
	OptionTraceID    = 11 // u64
	OptionTimeShift  = 12
	OptionGuest      = 13
	OptionTSC2NSec   = 14

	sectionStrings    = 15
	sectionHeaderInfo = 16
	sectionFtrace     = 17
	sectionFormats    = 18
	sectionKallsyms   = 19
	sectionPrintk     = 20
	sectionCmdlines   = 21
	sectionBufferText = 22
)

// sectionNames are the names of sections, in errors and in the section of strings.
var sectionNames = map[uint16]string{
	OptionDone:        "options",
	OptionBuffer:      "buffer flyrecord",
	sectionStrings:    "strings",
	sectionHeaderInfo: "headers",
	sectionFtrace:     "ftrace events",
	sectionFormats:    "events format",
	sectionKallsyms:   "kallsyms",
	sectionPrintk:     "trace_printk",
	sectionCmdlines:   "command lines",
	sectionBufferText: "buffer text",
}

const (
	sectionHeader = 16 // bytes: u16 id, u16 flags, u32 name, u64 size
	sectionPacked = 1  // the flag of a section that is packed

	tagSize    = 10 // bytes of a tag in version 6
	tagOptions = "options  \x00"
	tagRecord  = "flyrecord\x00"
	tagLatency = "latency  \x00"

	nameHeaderPage  = "header_page\x00"
	nameHeaderEvent = "header_event\x00"
)

// Limits. A file that exceeds them is refused.
const (
	maxChunk   = 16 << 20 // bytes of a chunk of packed pages
	maxPage    = 1 << 20  // bytes of a page; the kernel's write index cannot count further
	maxCPUs    = 8192     // the kernel's largest NR_CPUS
	maxBuffers = 4096
	maxName    = 4096

	// maxItems is how many formats a system may have, and how many systems or options a
	// file. More would make no sense, as event ids have 16 bits.
	maxItems = 1 << 16
	// maxOptionSections is how many sections of options a file may have. A file of
	// trace-cmd has one or two for each time that something was added to it.
	maxOptionSections = 1024

	pagesInChunk = 10 // the same number as trace-cmd packs into a chunk

	// The memory that items take besides their content.
	formatCost = 256 // including all lists in which the format appears later
	systemCost = 128
	bufferCost = 256
	cpuCost    = 64
)
