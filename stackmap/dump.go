package stackmap

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"ftracelab/budget"
)

// Record is one stack of a stack_map_bin.
type Record struct {
	ID, Ref uint32
	IPs     []uint64 // innermost first
}

// Dump is a stack_map_bin that was read.
type Dump struct {
	ABI       ABI
	BigEndian bool
	Records   []Record // in the order of the file
}

// ReadDump reads a stack_map_bin of either ABI in either byte order. What it
// holds grows with the data that is there, whatever counts the file claims, and
// is charged to memory; nil is a budget of the default size.
//
// Errors name the offset in bytes. The dump that is returned with an error
// holds the stacks before that offset; it is nil if the header was unusable. A
// file that ends early wraps io.ErrUnexpectedEOF; bytes after the last stack
// are an error too.
//
// Kernel: parse_stackmap_bin, tools/tracing/stackmap_dump.py.
//
// Departure: the kernel's tool stops at a truncated stack and says nothing, and
// each revision of it reads only the magic of its own kernel.
func ReadDump(r io.Reader, memory *budget.Budget) (*Dump, error) {
	d := &dumpReader{r: bufio.NewReader(r), memory: budget.OrDefault(memory)}
	var dump Dump
	n, err := d.header(&dump)
	if err != nil {
		return nil, err
	}
	for i := range n {
		rec, err := d.record()
		if err == nil {
			err = d.hold(len(rec.IPs))
		}
		if err != nil {
			return &dump, fmt.Errorf("stack %d of %d: %w", i+1, n, err)
		}
		dump.Records = append(dump.Records, rec)
	}
	if _, err := d.r.ReadByte(); err == nil {
		return &dump, d.errorf("data after the last of %d stacks", n)
	} else if !errors.Is(err, io.EOF) {
		return &dump, d.errorf("%w", err)
	}
	return &dump, nil
}

// IsDump reports whether a file that begins with head is a stack_map_bin.
func IsDump(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch magic := (&dumpReader{}).u32(head); {
	case magic == ABIv2.Magic || magic == ABIv4.Magic:
		return true
	default:
		return swap(magic) == ABIv2.Magic || swap(magic) == ABIv4.Magic
	}
}

// Top returns the n records with the highest ref_count, highest first; records
// with the same ref_count come in the order of the file. If n is not positive,
// it returns all records in the order of the file. The dump itself keeps its
// order.
func (d *Dump) Top(n int) []Record {
	if n <= 0 {
		return d.Records
	}
	top := slices.Clone(d.Records)
	slices.SortStableFunc(top, func(a, b Record) int { return cmp.Compare(b.Ref, a.Ref) })
	return top[:min(n, len(top))]
}

// dumpReader reads 32-bit words in the byte order of the file.
type dumpReader struct {
	r      *bufio.Reader
	big    bool
	offset int64 // of the next byte

	memory *budget.Budget
	room   int64 // that was taken and is not used yet
}

// recordCost is what a record takes in memory beside its addresses: it is in a
// list that is copied as it grows, and in another that is sorted. dumpStep is
// how much is charged to the budget at a time.
const (
	recordCost = 3 * 32
	dumpStep   = 1 << 20
)

// hold takes memory for one more stack.
func (d *dumpReader) hold(depth int) error {
	cost := recordCost + 8*int64(depth)
	if d.room < cost {
		n := max(cost, dumpStep)
		if err := d.memory.Take(n, "the stacks"); err != nil {
			return d.errorf("%w", err)
		}
		d.room += n
	}
	d.room -= cost
	return nil
}

// header reads the header into dump and returns the number of stacks.
func (d *dumpReader) header(dump *Dump) (stacks uint32, err error) {
	w, err := d.words()
	if err != nil {
		return 0, fmt.Errorf("header: %w", err)
	}
	d.offset = 0
	switch magic := w[0]; {
	case magic == ABIv2.Magic || magic == ABIv4.Magic:
	case swap(magic) == ABIv2.Magic || swap(magic) == ABIv4.Magic:
		d.big = true
		for i := range w {
			w[i] = swap(w[i])
		}
	default:
		return 0, d.errorf("bad magic: 0x%08x (neither little-endian nor big-endian)", magic)
	}
	dump.ABI, dump.BigEndian = ABI{Magic: w[0], Version: w[1]}, d.big
	if w[1] == 0 || w[0] == ABIv2.Magic && w[1] > ABIv2.Version || w[0] == ABIv4.Magic && w[1] > ABIv4.Version {
		d.offset = 4
		return 0, d.errorf("unsupported version %d of magic 0x%08x", w[1], w[0])
	}
	d.offset = headerSize
	return w[2], nil
}

// maxDumpDepth bounds a stack; a kernel records at most 64 addresses, or as many as
// a patch allows.
const maxDumpDepth = 1 << 16

// record reads one stack.
func (d *dumpReader) record() (Record, error) {
	w, err := d.words()
	if err != nil {
		return Record{}, err
	}
	rec := Record{ID: w[0], Ref: w[2], IPs: make([]uint64, 0, min(w[1], defaultDepth))}
	for range w[1] {
		ip, err := d.u64()
		if err != nil {
			return Record{}, fmt.Errorf("address %d of %d: %w", len(rec.IPs)+1, w[1], err)
		}
		if rec.IPs = append(rec.IPs, ip); len(rec.IPs) > maxDumpDepth {
			return Record{}, d.errorf("more than %d addresses", maxDumpDepth)
		}
	}
	return rec, nil
}

// words reads four words.
func (d *dumpReader) words() (w [4]uint32, err error) {
	var b [16]byte
	if err := d.fill(b[:]); err != nil {
		return w, err
	}
	for i := range w {
		w[i] = d.u32(b[4*i:])
	}
	return w, nil
}

func (d *dumpReader) u64() (uint64, error) {
	var b [8]byte
	if err := d.fill(b[:]); err != nil {
		return 0, err
	}
	low, high := d.u32(b[:]), d.u32(b[4:])
	if d.big {
		low, high = high, low
	}
	return uint64(high)<<32 | uint64(low), nil
}

func (d *dumpReader) u32(b []byte) uint32 {
	n := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	if d.big {
		n = swap(n)
	}
	return n
}

// fill reads all of b.
func (d *dumpReader) fill(b []byte) error {
	n, err := io.ReadFull(d.r, b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return d.errorf("%d of %d bytes: %w", n, len(b), err)
	}
	d.offset += int64(n)
	return nil
}

func (d *dumpReader) errorf(format string, args ...any) error {
	return fmt.Errorf("offset %d: "+format, append([]any{d.offset}, args...)...)
}

// swap reverses the bytes of n.
func swap(n uint32) uint32 {
	return n>>24 | n>>8&0xff00 | n<<8&0xff0000 | n<<24
}
