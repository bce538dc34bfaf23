package tracedat

// magic is how every trace.dat begins; the version follows as text.
const magic = "\x17\x08\x44tracing"

// Versions of the file.
const (
	Version6 = 6
	Version7 = 7
)

// Ids of options. From HeaderInfo on, they are also those of the sections that the
// options lead to; options themselves are in sections with the id OptionDone.
const (
	OptionDone       = 0  // v7: u64 offset of more options, 0: none
	OptionDate       = 1  // text 0x…: µs to be added to all times
	OptionCPUStat    = 2  // "CPU: n", then per_cpu/cpuN/stats
	OptionBuffer     = 3  // see Buffer
	OptionTraceClock = 4  // text of trace_clock
	OptionUname      = 5  // text
	OptionHook       = 6  // text
	OptionOffset     = 7  // text: ns to be added to all times
	OptionCPUCount   = 8  // u32
	OptionVersion    = 9  // text: of trace-cmd
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

// sectionNames are what errors and the section of strings call them.
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
	sectionPacked = 1  // of its flags

	tagSize    = 10 // of a tag of version 6
	tagOptions = "options  \x00"
	tagRecord  = "flyrecord\x00"
	tagLatency = "latency  \x00"

	nameHeaderPage  = "header_page\x00"
	nameHeaderEvent = "header_event\x00"
)

// Bounds. A file that exceeds them is refused.
const (
	maxChunk   = 16 << 20 // of packed pages
	maxPage    = 1 << 20  // what the kernel's write index can count
	maxCPUs    = 8192     // the kernel's largest NR_CPUS
	maxBuffers = 4096
	maxName    = 4096

	// maxItems is how many formats of a system, systems or options a file may have:
	// ids of events have 16 bits.
	maxItems = 1 << 16
	// maxOptionSections is how many sections the options may be spread over; a file of
	// trace-cmd has one or two for each time that something was added to it.
	maxOptionSections = 1024

	pagesInChunk = 10 // as trace-cmd packs them

	// What items take in memory beside their content.
	formatCost = 256 // with all that lists the format later
	systemCost = 128
	bufferCost = 256
	cpuCost    = 64
)
