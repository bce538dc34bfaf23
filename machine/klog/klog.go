// Package klog is the log of a simulated kernel: what printk writes, and what dmesg and
// /dev/kmsg read. Nothing else keeps or shows messages of the kernel.
//
// A [Log] holds records in a ring. If there is no room, it drops the oldest ones. Each
// record has a number that is never used again, so a reader notices what it has missed.
//
// Kernel: kernel/printk/printk.c, kernel/printk/printk_ringbuffer.c.
package klog

import (
	"io"
	"strings"
	"sync"
)

// Level says how urgent a message is; 0 is the most urgent.
//
// Kernel: include/linux/kern_levels.h.
type Level uint8

const (
	Emerg Level = iota
	Alert
	Crit
	Err
	Warning
	Notice
	Info
	Debug
)

// Default stands for the level of messages that name none, the second number of
// /proc/sys/kernel/printk.
const Default Level = 255

// Facility says who wrote a message, as in syslog(3).
type Facility uint32

const (
	Kern Facility = 0
	User Facility = 1 // a program that writes to /dev/kmsg
)

// Record is a message of the log.
type Record struct {
	Seq      uint64 // the number of the record, from 0
	Time     uint64 // in ns since boot
	Facility Facility
	Level    Level
	Text     string // without the newline at its end; there may be others in it
}

// Source is who writes a message.
type Source struct {
	CPU int
	// Outside says that a write to a file made the message. The writer is the process PID
	// with the name Comm. Without Outside it is the current task of the CPU.
	Outside bool
	PID     int
	Comm    string
}

// Shell is whoever does something to the machine from outside, as a shell does. It is no
// task of the machine.
var Shell = Source{Outside: true, PID: 1000, Comm: "sh"}

// Sizes of the ring: a kernel with CONFIG_LOG_BUF_SHIFT=17 has 128 KiB for texts, and one
// record for each 32 bytes of that.
//
// Kernel: _DEFINE_PRINTKRB, kernel/printk/printk_ringbuffer.h.
const (
	dataSize   = 1 << 17
	maxRecords = dataSize / 32
	blockID    = 8 // bytes in front of each text
)

// MaxText is how many bytes of a message are kept.
//
// Kernel: PRINTKRB_RECORD_MAX, kernel/printk/internal.h, with the NUL at the end.
const MaxText = 1023

// Log is the log of one machine. Several goroutines may use it.
type Log struct {
	// Trace runs for each message before it is in the log; nil: nobody wants to hear.
	//
	// Kernel: trace_console in printk_sprint.
	Trace func(by Source, time uint64, text string)
	// Console is where messages appear that are urgent enough. It may be nil.
	Console io.Writer

	mu      sync.Mutex
	records []placed
	next    uint64 // the number of the next record
	open    bool   // the last record may be continued, and no reader sees it
	head    uint64 // where the next text begins
	clear   uint64 // what dmesg -C has hidden is before this number
	levels  [4]int32
	saved   int32 // the console's level before it was switched off; -1: it is on
}

// placed is a record with its place among the texts.
type placed struct {
	Record
	begin uint64
}

// Indexes of the numbers in /proc/sys/kernel/printk.
const (
	consoleLevel = iota
	defaultLevel
	leastConsoleLevel
	bootConsoleLevel
)

// Levels of a kernel that was booted with quiet.
//
// Kernel: quiet_kernel, init/main.c, and CONFIG_CONSOLE_LOGLEVEL_QUIET.
var bootLevels = [4]int32{4, 4, 1, 7}

// New returns an empty log.
func New() *Log { return &Log{levels: bootLevels, saved: -1} }

// Print adds a message, cut to MaxText bytes. Without a newline at its end, which is not
// kept, it could be continued. So readers see it only when the next message comes.
//
// Kernel: vprintk_emit and vprintk_store.
func (l *Log) Print(by Source, time uint64, f Facility, level Level, text string) {
	size := min(len(text), MaxText) + 1
	text, final := strings.CutSuffix(text[:size-1], "\n")
	if l.Trace != nil {
		l.Trace(by, time, text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish()
	if level == Default {
		level = Level(l.levels[defaultLevel])
	}
	r := Record{Seq: l.next, Time: time, Facility: f, Level: level & 7, Text: text}
	l.place(r, size)
	if l.open = true; final {
		l.finish()
	}
}

// finish makes the last record one that readers see, and shows it on the console.
//
// Kernel: desc_make_final, kernel/printk/printk_ringbuffer.c.
func (l *Log) finish() {
	if !l.open {
		return
	}
	l.open = false
	r := &l.records[len(l.records)-1]
	if l.Console != nil && int32(r.Level) < l.levels[consoleLevel] {
		_, _ = l.Console.Write(r.AppendLines(nil)) // nobody is left to hear that the console is gone
	}
}

// end is the number of the first record that no reader sees yet.
func (l *Log) end() uint64 {
	if l.open {
		return l.next - 1
	}
	return l.next
}

// place puts a record into the ring, where its text takes size bytes and what belongs to
// each text. No text lies across the end of the ring: it begins at the start then.
//
// Kernel: prb_reserve, data_alloc and get_next_lpos.
func (l *Log) place(r Record, size int) {
	block := uint64(blockID+size+blockID-1) / blockID * blockID
	begin := l.head
	l.head += block
	if begin/dataSize != l.head/dataSize {
		l.head = l.head/dataSize*dataSize + block
	}
	l.next++
	l.records = append(l.records, placed{r, begin})
	drop := max(0, len(l.records)-maxRecords)
	for l.head > dataSize && l.records[drop].begin < l.head-dataSize {
		drop++
	}
	l.records = l.records[drop:]
}

// Next returns the first record from number seq on that the log still has. It is false if
// there is none yet.
//
// Kernel: prb_read_valid.
func (l *Log) Next(seq uint64) (Record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq >= l.end() {
		return Record{}, false
	}
	at := max(seq, l.records[0].Seq) - l.records[0].Seq
	return l.records[at].Record, true
}

// First is the number of the oldest record.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records) == 0 {
		return l.next
	}
	return l.records[0].Seq
}

// End is the number of the next record that a reader sees.
func (l *Log) End() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

// Clear hides what is in the log now from [Log.Cleared] on. The records stay where they are.
//
// Kernel: syslog_clear.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear = l.end()
}

// Cleared is the number of the first record that Clear has not hidden.
func (l *Log) Cleared() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clear
}
