package ringbuf_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
)

// numberedFormat describes the events that numberedEvent writes.
const numberedFormat = `name: numbered
ID: 2000
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u64 number;	offset:8;	size:8;	signed:0;

print fmt: "number=%llu", REC->number
`

// numberedEvent writes one, with length bytes behind it.
func numberedEvent(t *testing.T, b *ringbuf.Buffer, cpu int, ctx ringbuf.Context, number uint64, length int, inside func()) uint64 {
	t.Helper()
	e, err := b.Reserve(cpu, ctx, 16+length)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(e.Data, 2000|42<<32)
	binary.LittleEndian.PutUint64(e.Data[8:], number)
	for i := 16; i < len(e.Data); i++ {
		e.Data[i] = byte(i)
	}
	if inside != nil {
		inside()
	}
	b.Commit(cpu, e)
	return e.Time
}

// traceDat puts the pages of CPUs into the least that is a trace.dat, version 6.
func traceDat(size int, cpus [][][]byte) []byte {
	var f bytes.Buffer
	text := func(s string) {
		binary.Write(&f, binary.LittleEndian, uint64(len(s)))
		f.WriteString(s)
	}
	number := func(n uint32) { binary.Write(&f, binary.LittleEndian, n) }
	f.WriteString("\x17\x08\x44tracing6\x00\x00\x08")
	number(uint32(size))
	f.WriteString("header_page\x00")
	text(ringbuf.HeaderPage(size))
	f.WriteString("header_event\x00")
	text(ringbuf.HeaderEvent())
	number(0) // formats of ftrace's own events
	number(1) // systems
	f.WriteString("ftracelab\x00")
	number(1)
	text(numberedFormat)
	number(0) // kallsyms
	number(0) // printk_formats
	text("42 lab\n")
	number(uint32(len(cpus)))
	f.WriteString("flyrecord\x00")
	at := (f.Len() + 16*len(cpus) + size - 1) / size * size
	for _, pages := range cpus {
		binary.Write(&f, binary.LittleEndian, [2]uint64{uint64(at), uint64(len(pages) * size)})
		at += len(pages) * size
	}
	f.Write(make([]byte, (size-f.Len()%size)%size))
	for _, pages := range cpus {
		f.Write(bytes.Join(pages, nil))
	}
	return f.Bytes()
}

// line is an event as trace-cmd shows it, or the loss before one.
type line struct {
	cpu          int
	time, number uint64
	lost         uint64
}

var (
	reportEvent = regexp.MustCompile(`^\s*lab-42\s+\[(\d+)\].*?(\d+)\.(\d{9}): numbered:\s+number=(\d+)$`)
	reportLoss  = regexp.MustCompile(`^CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]$`)
)

// report is what trace-cmd finds in a file.
func report(t *testing.T, program string, dat []byte) (list []line) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.dat")
	if err := os.WriteFile(name, dat, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "report", "-t", "-i", name).CombinedOutput()
	if err != nil {
		t.Fatalf("trace-cmd: %v\n%s", err, out)
	}
	var lost [2]uint64
	for text := range bytes.Lines(out) {
		text = bytes.TrimSpace(text)
		number := func(b []byte) uint64 { n, _ := strconv.ParseUint(string(b), 10, 64); return n }
		if m := reportLoss.FindSubmatch(text); m != nil {
			if lost[number(m[1])] = number(m[2]); len(m[2]) == 0 {
				lost[number(m[1])] = ringbuf.LostUnknown // the page had no room for the number
			}
		} else if m := reportEvent.FindSubmatch(text); m != nil {
			cpu := int(number(m[1]))
			list = append(list, line{cpu, number(m[2])*1e9 + number(m[3]), number(m[4]), lost[cpu]})
			lost[cpu] = 0
		} else if !bytes.HasPrefix(text, []byte("cpus=")) {
			t.Fatalf("trace-cmd says %q", text)
		}
	}
	return list
}

// The pages that readers get are what trace-cmd expects: with time extends,
// absolute stamps after interrupts and discards, long events, losses, and pages
// read before they were full, it finds the events, each with its time.
func TestTraceCmdReads(t *testing.T) {
	program := testutil.Program(t, "trace-cmd")
	for _, size := range []int{4096, 16384} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			now := uint64(1_000_000_000)
			b := mustNew(t, ringbuf.Config{CPUs: 2, Size: 20 * (size - 16), SubbufSize: size, Clock: func(int) uint64 { now += 7; return now }})
			taken := map[uint64]uint64{} // number → time
			late := map[uint64]bool{}    // may have that of the event before
			var want []line
			var pages [2][][]byte
			var number uint64
			drain := func(cpu int) {
				image := make([]byte, size)
				for b.ReadPage(cpu, image, false) {
					pages[cpu] = append(pages[cpu], bytes.Clone(image))
				}
			}
			look := func(cpu int) { // what is there to be read, from the iterator
				lost := b.Stats(cpu).Overrun
				for _, l := range want {
					if l.cpu == cpu {
						lost -= l.lost
					}
				}
				older := 0 // on the reader page, which is older than what was lost
				reader := b.Diagram(cpu).Pages[0]
				for _, e := range reader.Events {
					if e.IsData() && e.Offset >= ringbuf.PageHeaderSize+reader.Read {
						older++
					}
				}
				last := uint64(0)
				it := b.Iter(cpu)
				for e, ok := it.Next(); ok; e, ok = it.Next() {
					n := binary.LittleEndian.Uint64(e.Data[8:])
					if at := taken[n]; e.Time != at && !(late[n] && e.Time == last) {
						t.Fatalf("event %d at %d, its time was %d", n, e.Time, at)
					}
					l := line{cpu, e.Time, n, 0}
					if older == 0 {
						l.lost = lost
					}
					want = append(want, l)
					older, last = older-1, e.Time
				}
			}
			write := func(cpu int, ctx ringbuf.Context, inside func()) {
				number++
				n := number
				taken[n] = numberedEvent(t, b, cpu, ctx, n, int(n*37%190), inside)
			}
			for round := range 60 {
				cpu := round % 2
				for i := range (50 + 47*(round%7)*(round%3)) * size / 4096 {
					switch now += uint64(i * 11); {
					case i%50 == 7:
						now += 1 << 28 // a time extend
						write(cpu, ringbuf.Normal, nil)
					case i%50 == 11:
						e, err := b.Reserve(cpu, ringbuf.Normal, 40)
						if err != nil {
							t.Fatal(err)
						}
						b.Discard(cpu, e) // the next event has an absolute stamp
					case i%10 == 3:
						write(cpu, ringbuf.Normal, func() { write(cpu, ringbuf.IRQ, nil) })
					case i%10 == 5: // interrupted at one of the points, and that again
						n, at, once := number+1, ringbuf.Point(i/10%ringbuf.Points), false
						b.Interrupt(cpu, func(p ringbuf.Point) {
							if p == at && !once {
								once = true
								late[n] = p <= ringbuf.PointB
								write(cpu, ringbuf.SoftIRQ, nil)
								write(cpu, ringbuf.NMI, nil)
							}
						})
						write(cpu, ringbuf.Normal, nil)
						b.Interrupt(cpu, nil)
					default:
						write(cpu, ringbuf.Normal, nil)
					}
				}
				if round%5 >= 3 {
					look(cpu)
					drain(cpu)
				}
			}
			for cpu := range 2 {
				look(cpu)
				drain(cpu)
			}
			got := report(t, program, traceDat(size, [][][]byte{pages[0], pages[1]}))
			byCPU := func(a, b line) int { return cmp.Compare(a.cpu, b.cpu) }
			slices.SortStableFunc(want, byCPU)
			slices.SortStableFunc(got, byCPU) // trace-cmd merges by time
			lost := uint64(0)
			for i := range min(len(got), len(want)) {
				if got[i].lost == ringbuf.LostUnknown && want[i].lost != 0 {
					got[i].lost = want[i].lost
				}
				lost += got[i].lost
				if got[i] != want[i] {
					t.Fatalf("event %d of %d: trace-cmd has %+v, want %+v", i, len(want), got[i], want[i])
				}
			}
			if len(got) != len(want) || lost != b.Stats(0).Overrun+b.Stats(1).Overrun || lost == 0 {
				t.Errorf("trace-cmd has %d events and %d dropped of %d and %d", len(got), lost, len(want), b.Stats(0).Overrun+b.Stats(1).Overrun)
			}
			t.Logf("%d events of %d and %d dropped ones on %d pages, as trace-cmd reads them", len(got), number, lost, len(pages[0])+len(pages[1]))
		})
	}
}
