package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ftracelab/ringbuf"
)

// subbufSizes are the sub-buffer sizes of the captures in which it is not 4096.
var subbufSizes = map[string]int{"function/subbuf_8": 8192, "function/subbuf_64": 65536}

// record is one event of a capture.
type record struct {
	time    uint64
	cpu     int
	typ     int
	flags   uint8
	preempt uint8
	pid     int
	data    []byte // the whole record, common fields included
}

func (r *record) u32(off int) uint32 {
	return uint32(r.data[off]) | uint32(r.data[off+1])<<8 | uint32(r.data[off+2])<<16 | uint32(r.data[off+3])<<24
}

func (r *record) u64(off int) uint64 { return uint64(r.u32(off)) | uint64(r.u32(off+4))<<32 }

func (r *record) int64(off int) int64 { return int64(r.u64(off)) }

func (r *record) str(off, size int) string {
	s, _, _ := strings.Cut(string(r.data[off:off+size]), "\x00")
	return s
}

// dynamic gives the string of a __data_loc field.
func (r *record) dynamic(off int) string {
	loc := r.u32(off)
	at, size := int(loc&0xffff), int(loc>>16)
	if at+size > len(r.data) {
		return ""
	}
	return r.str(at, size)
}

// eventIDs reads the event types of a kernel: the number for each name such as
// "sched/sched_switch".
func eventIDs(o oracle) (map[string]int, error) {
	text, err := o.text("static/formats_all.txt.gz")
	if err != nil {
		return nil, err
	}
	ids := map[string]int{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if n, ok := strings.CutPrefix(line, "==== events/"); ok {
			name = n
		}
		if n, ok := strings.CutPrefix(line, "ID: "); ok {
			id, err := strconv.Atoi(n)
			if err != nil {
				return nil, fmt.Errorf("formats_all.txt.gz: %s: %w", name, err)
			}
			ids[name] = id
		}
	}
	return ids, nil
}

// readCapture reads the raw pages of all CPUs of a capture, in order of time.
func readCapture(o oracle, dir string) ([]record, error) {
	var records []record
	pageSize := cmp.Or(subbufSizes[dir], 4096)
	for cpu := range 2 {
		name := fmt.Sprintf("%s/cpu%d.raw.gz", dir, cpu)
		if _, err := os.Stat(filepath.Join(string(o), name)); err != nil {
			name = strings.TrimSuffix(name, ".gz")
		}
		b, err := o.bytes(name)
		if err != nil {
			return nil, err
		}
		if records, err = readPages(records, b, cpu, pageSize); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	sortRecords(records)
	return records, nil
}

// sortRecords sorts the records of all CPUs by time.
func sortRecords(records []record) {
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.time, b.time) })
}

func readPages(records []record, b []byte, cpu, pageSize int) ([]record, error) {
	for at := 0; at+pageSize <= len(b); at += pageSize {
		p, err := ringbuf.ReadPageImage(b[at : at+pageSize])
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", at, err)
		}
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			if !e.IsData() || len(e.Data) < 8 {
				continue
			}
			r := record{time: e.Time, cpu: cpu, data: e.Data, flags: e.Data[2], preempt: e.Data[3]}
			r.typ = int(e.Data[0]) | int(e.Data[1])<<8
			r.pid = int(int32(r.u32(4)))
			records = append(records, r)
		}
		if err := p.Err(); err != nil {
			return nil, fmt.Errorf("offset %d: %w", at, err)
		}
	}
	return records, nil
}
