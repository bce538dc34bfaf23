package workload

import (
	"fmt"
	"slices"
	"syscall"

	"ftracelab/workload/machine"
)

// DiskFile is the block device, opened by a process of the machine that reads and
// writes it from the beginning on through the page cache, which is its own. The
// methods let time pass until the process has done what they say.
//
// Departure: the process reads and writes a page with one system call. Between two of
// the methods it sleeps. To write less than a page does not read the rest of it.
type DiskFile struct {
	lab  Lab
	d    *disk
	task *machine.Task

	pos    uint64 // in bytes
	ahead  window // what readahead asked for last
	known  uint64 // pages from the beginning that are in the cache
	moving []transfer
	dirty  []uint64 // pages

	left  int  // bytes still left to read or write
	write bool // left counts bytes to write, not to read
	end   bool // the guest closes the file at the end
	gone  bool
	// again, if it is set, gives the process more to do when it has done all, and says
	// how long it sleeps before.
	again func() machine.Time
}

// window is a stretch of pages; async is where in it the next one is asked for, from
// its end.
//
// Kernel: struct file_ra_state, include/linux/fs.h.
type window struct{ start, size, async uint64 }

// transfer is a request for the pages behind those of the one before, up to end.
type transfer struct {
	end uint64
	req *machine.Request
}

// maxReadahead is how many pages are read ahead at most, read_ahead_kb 128.
const maxReadahead = 32

// OpenDisk starts a process of the name comm that has the block device open. ENXIO
// if there is no driver.
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

// Read reads up to n bytes, none at the end of the device, and returns how many.
func (f *DiskFile) Read(n int) (int, error) {
	n = int(min(uint64(n), DiskSectors<<9-f.pos))
	return n, f.do("read", func() { f.left, f.write = n, false })
}

// Write writes n bytes. ENOSPC if the device has no room for any.
func (f *DiskFile) Write(n int) (int, error) {
	room := DiskSectors<<9 - f.pos
	if room == 0 && n > 0 {
		return 0, fmt.Errorf("%s: %w", DiskName, syscall.ENOSPC)
	}
	n = int(min(uint64(n), room))
	return n, f.do("write", func() { f.left, f.write = n, true })
}

// Close lets the process close the file, which writes what is dirty, and exit.
func (f *DiskFile) Close() error { return f.do("close", func() { f.end = true }) }

// do has the process do something and waits until it has.
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

// next is what the process does next.
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

// step takes what one system call does, at most the rest of a page.
func (f *DiskFile) step() (page, bytes uint64) {
	page = f.pos / pageSize
	bytes = min(uint64(f.left), pageSize-f.pos%pageSize)
	f.pos += bytes
	f.left -= int(bytes)
	return page, bytes
}

// nextRead reads of a page. If it is not in the cache, or if it is where the next
// window begins to be worth asking for, pages are read ahead.
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
		next := min(2*ra.size, maxReadahead) // the initial size is beyond where it is quadrupled
		*ra = window{ra.start + ra.size, next, next}
		async = f.readAhead(c, stay)
	}
	wait := f.waitFor(page, stay)
	stay.Code = f.d.code(fmt.Sprintf("read %d %d %t", sync, async, wait), readCode(sync, async, wait))
}

// initialReadahead is get_init_ra_size of a page.
const initialReadahead = 4

// The first arguments of the system calls.
const (
	diskFD     = 3
	userBuffer = 0x55555565f000
)

// readAhead asks for the window's pages, as far as the device has them, and returns
// how many those are.
func (f *DiskFile) readAhead(c *machine.CPU, stay *machine.Stay) uint64 {
	pages := min(f.ahead.size, diskPages-f.ahead.start)
	stay.Request = f.d.request(c, machine.ReqRead|machine.ReqReadahead, f.ahead.start, pages, pages*pageSize)
	f.known = f.ahead.start + pages
	f.moving = append(f.moving, transfer{f.known, stay.Request})
	return pages
}

// waitFor says whether page is still on its way, and makes the stay wait for it.
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

// nextSync writes pages that are dirty: those that lie together.
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
