package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ftracelab/ringbuf"
)

// mapRing maps a ring buffer, and prints what it sees in its memory while it writes markers and
// reads them: the number of the reader's sub-buffer, how many events are on it, and how many
// of them count as read. It runs in a cell, and has run on a real kernel.
func mapRing() {
	const tracing = "/sys/kernel/tracing/"
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	runtime.LockOSThread()
	var cpus unix.CPUSet
	cpus.Set(0)
	check(unix.SchedSetaffinity(0, &cpus))
	write := func(name, text string) {
		check(os.WriteFile(filepath.Join(tracing, name), []byte(text), 0))
	}
	write("events/enable", "0")
	fd, err := unix.Open(tracing+"per_cpu/cpu0/trace_pipe_raw", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	check(err)
	meta, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	check(err)
	word := func(at int) int { return int(binary.NativeEndian.Uint32(meta[at:])) }
	size := word(8)
	data, err := unix.Mmap(fd, int64(word(0)), size*word(12), unix.PROT_READ, unix.MAP_SHARED)
	check(err)
	show := func(what string) {
		id, read := word(24), word(28)
		page, err := ringbuf.ReadPageImage(data[id*size : (id+1)*size])
		check(err)
		all, counted := 0, 0
		for e, ok := page.Next(); ok; e, ok = page.Next() {
			if e.IsData() {
				all++
				if e.Offset-ringbuf.PageHeaderSize < read {
					counted++
				}
			}
		}
		missed, _, _ := page.Missed()
		fmt.Printf("%-12s sub-buffer %d: %d events, %d read; %d written, %d read in all; missed %v\n",
			what, id, all, counted, word(40), word(56), missed)
	}
	const getReader = 'R'<<8 | 0x20
	get := func() {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getReader, 0)
		if errno != 0 {
			check(errno)
		}
		show("get reader")
	}
	mark := func(times int) {
		for range times {
			write("trace_marker", "a marker of such a length that a hundred of them fill a few sub-buffers")
		}
		show(fmt.Sprintf("%d written", times))
	}
	write("trace", "")
	show("emptied")
	mark(1)
	get()
	mark(1)
	mark(1)
	get()
	get()
	mark(100)
	for range 4 {
		get()
	}
	mark(1)
	write("trace", "")
	show("emptied")
	mark(2)
	get()
}

// What a process sees in a ring that it has mapped is what it sees on the real kernel.
func TestMappedRing(t *testing.T) {
	needCell(t)
	want, err := os.ReadFile("testdata/mapring.txt")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := exec.CommandContext(t.Context(), "ftracelab", "exec", "--", "mapring").CombinedOutput()
		if err != nil || string(got) != string(want) {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}
