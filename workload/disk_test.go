package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
)

// bareLab is a machine without a tracer.
type bareLab struct{ m *machine.Machine }

func (l bareLab) Do(do func(*machine.Machine) error) error { return do(l.m) }
func (l bareLab) Run(d machine.Time)                       { l.m.Run(d) }

// watchDisk notes what the block layer does: the event, the first sector and the
// number of sectors.
func watchDisk(t *testing.T, m *machine.Machine) *[]string {
	t.Helper()
	var seen []string
	for _, name := range machine.Tracepoints() {
		if strings.HasPrefix(name, "block:") {
			if err := m.Enable(name, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) {
		if b, ok := tp.(*machine.Block); ok {
			seen = append(seen, fmt.Sprintf("%s %d+%d", strings.TrimPrefix(tp.Event().TracepointName(), "block:block_"), b.Sector, b.Bytes>>9))
		}
	}
	return &seen
}

// openDisk is a machine with a disk, which a process has open.
func openDisk(t *testing.T) (bareLab, *DiskFile) {
	t.Helper()
	lab := bareLab{boot(t, "quiet", machine.Config{CPUs: 2})}
	if err := Modprobe(lab, "virtio_blk", nil); err != nil {
		t.Fatal(err)
	}
	f, err := OpenDisk(lab, "dd")
	if err != nil {
		t.Fatal(err)
	}
	return lab, f
}

func count(seen []string, prefix string) (n int) {
	for _, s := range seen {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// A sequential read asks for windows that double, each once, and every request that
// is issued is completed.
func TestDiskReadahead(t *testing.T) {
	lab, f := openDisk(t)
	seen := watchDisk(t, lab.m)
	if n, err := f.Read(200 * 1024); n != 200*1024 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	lab.Run(machine.Millisecond)
	var issued []string
	for _, s := range *seen {
		if sectors, ok := strings.CutPrefix(s, "rq_issue "); ok {
			issued = append(issued, sectors)
		}
	}
	if want := []string{"0+32", "32+64", "96+128", "224+256", "480+256"}; !slices.Equal(issued, want) {
		t.Errorf("issued %v, want %v", issued, want)
	}
	for _, sectors := range issued {
		if !slices.Contains(*seen, "rq_complete "+sectors) {
			t.Errorf("%s was not completed", sectors)
		}
	}
}

// What was written goes to the disk when it is closed: one request of the pages that
// lie together.
func TestDiskWrite(t *testing.T) {
	lab, f := openDisk(t)
	seen := watchDisk(t, lab.m)
	for range 16 { // two pages
		if n, err := f.Write(512); n != 512 || err != nil {
			t.Fatalf("write %d, %v", n, err)
		}
	}
	if count(*seen, "rq_issue") > 0 || count(*seen, "dirty_buffer") != 16 {
		t.Errorf("before the end: %v", *seen)
	}
	*seen = nil
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bio_queue 0+8", "getrq 0+8", "io_start 0+8", "plug 0+0", "bio_queue 8+8", "bio_backmerge 8+8",
		"unplug 0+0", "rq_issue 0+16", "rq_complete 0+16", "io_done 0+0",
	}
	if !slices.Equal(*seen, want) {
		t.Errorf("%v, want %v", *seen, want)
	}
}

// The device ends, and with it what can be read and written.
func TestDiskEnd(t *testing.T) {
	_, f := openDisk(t)
	f.pos = DiskSectors<<9 - 100
	if n, err := f.Read(4096); n != 100 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if n, err := f.Read(4096); n != 0 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if n, err := f.Write(1); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write %d, %v", n, err)
	}
}

// The driver stays while the disk is open, and without it there is no disk.
func TestDiskDriver(t *testing.T) {
	lab, f := openDisk(t)
	if err := Rmmod(lab, "virtio_blk"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("rmmod: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Rmmod(lab, "virtio_blk"); err != nil {
		t.Errorf("rmmod: %v", err)
	}
	if _, err := OpenDisk(lab, "dd"); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("open: %v", err)
	}
}

// A request whose CPU goes is completed by another.
func TestDiskOutlivesCPU(t *testing.T) {
	m := boot(t, "disk", machine.Config{CPUs: 2})
	lab := bareLab{m}
	seen := watchDisk(t, m)
	for on := false; m.Now() < machine.Second; on = !on {
		if err := Hotplug(lab, 1, on); err != nil {
			t.Fatal(err)
		}
		m.Run(3 * machine.Millisecond)
	}
	issued, done := count(*seen, "rq_issue"), count(*seen, "rq_complete")
	if issued < 50 || done < issued-2 {
		t.Errorf("%d issued, %d completed", issued, done)
	}
}
