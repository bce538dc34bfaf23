// Command cutexample cuts the beginning of a capture folder into a smaller one:
// the first pages of each CPU, the formats and symbols they need, and stats that
// count what is left.
//
//	cutexample [-pages N] FROM TO
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"

	"ftracelab/capture"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
)

func main() {
	pages := flag.Int("pages", 250, "pages of each CPU to keep")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: cutexample [-pages N] FROM TO")
		os.Exit(2)
	}
	if err := cut(flag.Arg(0), flag.Arg(1), *pages); err != nil {
		fmt.Fprintln(os.Stderr, "cutexample:", err)
		os.Exit(1)
	}
}

// cutter collects what is needed to read the pages that are kept.
type cutter struct {
	c         *capture.Capture
	from, to  string
	types     map[int]bool
	addresses map[uint64]bool
}

func cut(from, to string, pages int) (err error) {
	c, err := capture.Open(from, capture.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	x := &cutter{c: c, from: from, to: to, types: map[int]bool{}, addresses: map[uint64]bool{}}
	for _, s := range c.Info().Stats {
		if err := x.cpu(s, pages); err != nil {
			return err
		}
	}
	for _, name := range []string{"saved_cmdlines", "state.txt"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := x.write(name, text); err != nil {
			return err
		}
	}
	if err := x.formats(); err != nil {
		return err
	}
	return x.kallsyms()
}

func (x *cutter) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(x.to, name), text, 0o644)
}

// cpu copies the first pages of a CPU and counts their events for its stats.
func (x *cutter) cpu(s capture.CPUStats, pages int) error {
	in := x.c.Pages(s.CPU)
	image := make([]byte, x.c.Info().SubbufSize)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	var first, last uint64
	s.Entries, s.Bytes = 0, 0
	for i := range pages {
		if _, err := io.ReadFull(in, image); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if _, err := z.Write(image); err != nil {
			return err
		}
		page, err := ringbuf.ReadPageImage(image)
		if err != nil {
			return err
		}
		if i == 0 {
			first = page.Time()
		}
		s.Bytes += uint64(page.Commit())
		n, now, err := x.page(page)
		if err != nil {
			return err
		}
		s.Entries += n
		last = now
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := x.write(fmt.Sprintf("cpu%d.raw.gz", s.CPU), packed.Bytes()); err != nil {
		return err
	}
	stats := fmt.Sprintf("entries: %d\noverrun: 0\ncommit overrun: 0\nbytes: %d\noldest event ts: %s\nnow ts: %s\n"+
		"dropped events: 0\nread events: 0\n", s.Entries, s.Bytes, seconds(first), seconds(last))
	return x.write(fmt.Sprintf("stats.cpu%d", s.CPU), []byte(stats))
}

// seconds prints a time in the form of a stats file.
func seconds(ns uint64) string {
	us := (ns + 500) / 1000
	return fmt.Sprintf("%5d.%06d", us/1e6, us%1e6)
}

// page notes the types of the events and every word that may be an address.
func (x *cutter) page(page *ringbuf.PageReader) (n, now uint64, err error) {
	for {
		e, ok := page.Next()
		if !ok {
			return n, now, page.Err()
		}
		if !e.IsData() {
			continue
		}
		n, now = n+1, e.Time
		x.types[int(event.ParseCommon(e.Data).Type)] = true
		for at := event.CommonSize; at+8 <= len(e.Data); at += 8 {
			var v uint64
			for i := range 8 {
				v |= uint64(e.Data[at+i]) << (8 * i)
			}
			x.addresses[v] = true
		}
	}
}

// formats writes the formats of the events that occur and of the system ftrace.
func (x *cutter) formats() error {
	var b []byte
	for _, t := range x.c.Types().All() {
		if t.Name != "blk" && (t.System == "ftrace" || x.types[t.ID]) {
			b = fmt.Appendf(b, "==== events/%s/%s\n%s", t.System, t.Name, t.Format())
		}
	}
	return x.write("formats_all.txt", b)
}

// kallsyms writes the symbols of all addresses. The symbol that follows each of them is
// written, too, because the distance between the two is the size.
func (x *cutter) kallsyms() error {
	lines := map[uint64]string{}
	add := func(addr uint64) (next uint64, ok bool) {
		name, module, offset, size, ok := x.c.Lookup(addr)
		// The last symbol of the kernel, and of each module, seems to reach up to the
		// next thing in memory. What is far behind it is no code.
		if !ok || offset >= 1<<20 {
			return 0, false
		}
		line := fmt.Sprintf("%016x t %s", addr-offset, name)
		if module != "" {
			line += "\t[" + module + "]"
		}
		lines[addr-offset] = line
		return addr - offset + size, size > 0
	}
	for addr := range x.addresses {
		if next, ok := add(addr); ok {
			add(next)
		}
	}
	keys := make([]uint64, 0, len(lines))
	for k := range lines {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b []byte
	for _, k := range keys {
		b = append(b, lines[k]...)
		b = append(b, '\n')
	}
	return x.write("kallsyms.txt", b)
}
