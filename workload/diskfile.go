package workload

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/machine"
)

// DiskFile is the block device, opened by a process of the machine. The process reads
// and writes it from the beginning on, through a page cache of its own. The methods let
// simulated time pass until the process has done what they ask for.
//
// Departure: the process reads and writes a page at a time, with one system call.
// Between two calls of methods it sleeps. If less than a page is written, the rest of
// the page is not read first.
type DiskFile struct {
	lab  Lab
	d    *disk
	task *machine.Task

	pos    uint64 // in bytes
	ahead  window // the pages that readahead asked for last
	known  uint64 // how many pages, from the beginning on, are in the cache
	moving []transfer
	dirty  []uint64 // the numbers of the dirty pages

	left  int  // how many bytes still have to be read or written
	write bool // left counts bytes to write, and not to read
	end   bool // the guest closes the file at the end
	gone  bool

	// again, if it is not nil, is called when the process has done everything. It gives
	// the process more to do, and returns how long the process sleeps before that.
	again func() machine.Time
}

// window is a number of consecutive pages. The next window is asked for when the reader
// is async pages before the end of this one.
//
// Kernel: struct file_ra_state, include/linux/fs.h.
type window struct{ start, size, async uint64 }

// transfer is a request for pages up to end. It begins where the transfer before it
// ends.
type transfer struct {
	end uint64
	req *machine.Request
}

// maxReadahead is how many pages are read ahead at most; it corresponds to
// read_ahead_kb 128.
const maxReadahead = 32

// OpenDisk starts a process with the name comm that has the block device open. Errors:
// ENXIO if there is no driver.
func OpenDisk(lab Lab, comm string) (*DiskFile, error) {
	var f *DiskFile
	return f, lab.Do(func(m *machine.Machine) error {
		w, ok := m.Workload().(*mix)
		if !ok || w.disk == nil {
			return fmt.Errorf("%s: no driver: %w", DiskName, syscall.ENXIO)
		}
		f = w.disk.open(machine.TaskConfig{Comm: comm[:min(len(comm), 15)]})
		f.lab = lab
		return nil
	})
}

func (d *disk) open(cfg machine.TaskConfig) *DiskFile {
	f := &DiskFile{d: d}
	cfg.Memory, cfg.Next = newUserStack(), f.next
	f.task = d.w.m.Spawn(cfg)
	d.files = append(d.files, f)
	return f
}

// Read reads up to n bytes and returns how many it has read, which is 0 at the end of
// the device.
func (f *DiskFile) Read(n int) (int, error) {
	n = int(min(uint64(n), DiskSectors<<9-f.pos))
	return n, f.do("read", func() { f.left, f.write = n, false })
}

// Write writes n bytes. Errors: ENOSPC at the end of the device.
func (f *DiskFile) Write(n int) (int, error) {
	room := DiskSectors<<9 - f.pos
	if room == 0 && n > 0 {
		return 0, fmt.Errorf("%s: %w", DiskName, syscall.ENOSPC)
	}
	n = int(min(uint64(n), room))
	return n, f.do("write", func() { f.left, f.write = n, true })
}

// Close lets the process close the file, which writes the dirty pages, and exit.
func (f *DiskFile) Close() error { return f.do("close", func() { f.end = true }) }

// do gives the process something to do and waits until it is done.
func (f *DiskFile) do(what string, begin func()) error {
	err := f.lab.Do(func(m *machine.Machine) error {
		begin()
		m.Wake(f.task)
		return nil
	})
	if err != nil {
		return err
	}
	return await(f.lab, DiskName+": "+what, moduleTimeout, func() bool { return f.gone || f.left == 0 && !f.end })
}

// next gives the next stay of the process in the kernel.
func (f *DiskFile) next(c *machine.CPU, t *machine.Task) machine.Stay {
	stay := machine.Stay{Kind: machine.Syscall, After: machine.Microsecond}
	switch {
	case f.left > 0 && f.write:
		f.nextWrite(c, &stay)
	case f.left > 0:
		f.nextRead(c, &stay)
	case (f.end || f.again != nil) && len(f.dirty) > 0:
		f.nextSync(c, &stay)
	case f.end:
		stay.NR, stay.Code = sysExitGroup, f.learned(sysExitGroup)
		f.d.files = slices.DeleteFunc(f.d.files, func(o *DiskFile) bool { return o == f })
		f.gone = true
	default:
		stay.NR, stay.Code = sysClockNanosleep, f.learned(sysClockNanosleep)
		if f.again != nil {
			stay.Wait = machine.Wait{Timeout: f.again(), By: machine.Sleep}
			break
		}
		stay.Wait = machine.Wait{Over: func() bool { return f.left > 0 || f.end }}
	}
	stay.User = f.d.w.userAt(t, int(stay.NR), int32(stay.NR))
	return stay
}

func (f *DiskFile) learned(nr int64) machine.Code {
	return pick(f.d.rng, f.d.w.codes[sleeps(nr)])
}

// step takes the part of the work that one system call does: at most the rest of a
// page.
func (f *DiskFile) step() (page, bytes uint64) {
	page = f.pos / pageSize
	bytes = min(uint64(f.left), pageSize-f.pos%pageSize)
	f.pos += bytes
	f.left -= int(bytes)
	return page, bytes
}

// nextRead reads from a page. Pages are read ahead if this one is not in the cache, or
// if it is the page at which the next window has to be asked for.
//
// Kernel: page_cache_sync_ra and page_cache_async_ra, mm/readahead.c.
func (f *DiskFile) nextRead(c *machine.CPU, stay *machine.Stay) {
	page, bytes := f.step()
	stay.Args, stay.Ret = [6]uint64{diskFD, userBuffer, bytes}, int64(bytes)
	var sync, async uint64
	switch ra := &f.ahead; {
	case page >= f.known:
		*ra = window{page, initialReadahead, initialReadahead - 1}
		sync = f.readAhead(c, stay)
	case page == ra.start+ra.size-ra.async && ra.start+ra.size < diskPages:
		next := min(2*ra.size, maxReadahead) // the kernel quadruples only sizes below the initial one
		*ra = window{ra.start + ra.size, next, next}
		async = f.readAhead(c, stay)
	}
	wait := f.waitFor(page, stay)
	stay.Code = f.d.code(fmt.Sprintf("read %d %d %t", sync, async, wait), readCode(sync, async, wait))
}

// initialReadahead is what get_init_ra_size gives for one page.
const initialReadahead = 4

// The file descriptors that are the first arguments of the system calls.
const (
	diskFD     = 3
	userBuffer = 0x55555565f000
)

// readAhead asks for the pages of the window, as far as the device has them, and
// returns how many these are.
func (f *DiskFile) readAhead(c *machine.CPU, stay *machine.Stay) uint64 {
	pages := min(f.ahead.size, diskPages-f.ahead.start)
	stay.Request = f.d.request(c, machine.ReqRead|machine.ReqReadahead, f.ahead.start, pages, pages*pageSize)
	f.known = f.ahead.start + pages
	f.moving = append(f.moving, transfer{f.known, stay.Request})
	return pages
}

// waitFor reports whether page is still being read, and if so makes the stay wait for
// it.
func (f *DiskFile) waitFor(page uint64, stay *machine.Stay) bool {
	for len(f.moving) > 0 && page >= f.moving[0].end {
		f.moving = f.moving[1:]
	}
	if len(f.moving) == 0 || f.moving[0].req.Done {
		return false
	}
	stay.Wait = waitDone(f.moving[0].req)
	return true
}

func waitDone(req *machine.Request) machine.Wait {
	return machine.Wait{Class: wakeDisk, Over: func() bool { return req.Done }}
}

// nextWrite writes to a page of the cache.
func (f *DiskFile) nextWrite(c *machine.CPU, stay *machine.Stay) {
	page, bytes := f.step()
	stay.NR, stay.Args, stay.Ret = sysWrite, [6]uint64{diskFD, userBuffer, bytes}, int64(bytes)
	if n := len(f.dirty); n == 0 || f.dirty[n-1] != page {
		f.dirty = append(f.dirty, page)
	}
	f.known = max(f.known, page+1)
	stay.Request = f.d.request(c, machine.ReqWrite, page, 1, pageSize)
	stay.Code = f.d.code("write", writeCode)
}

// maxSync is how many pages one request writes.
const maxSync = 256

// nextSync writes a group of dirty pages that follow each other.
func (f *DiskFile) nextSync(c *machine.CPU, stay *machine.Stay) {
	first, pages := f.dirty[0], uint64(1)
	for pages < min(maxSync, uint64(len(f.dirty))) && f.dirty[pages] == first+pages {
		pages++
	}
	f.dirty = f.dirty[pages:]
	stay.NR, stay.Args = sysClose, [6]uint64{diskFD}
	stay.Request = f.d.request(c, machine.ReqWrite|machine.ReqSync, first, pages, pageSize)
	stay.Wait = waitDone(stay.Request)
	stay.Code = f.d.code(fmt.Sprintf("sync %d", pages), syncCode(pages))
}
