package sframe

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	magic       = 0xdee2
	headerSize  = 28
	defaultMask = 16 // block size of version 1, which does not write it
)

// fdeSize is the size of a function's entry by version.
var fdeSize = [...]int{1: 17, 2: 20, 3: 16}

// Parse reads a section that lies at addr. An error names the function or row that is
// wrong. Functions that share rows are refused, so the memory it takes is bounded by a multiple of len(b).
func Parse(b []byte, addr uint64) (*Section, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("sframe: %d bytes are less than a header", len(b))
	}
	s := &Section{Addr: addr, order: binary.LittleEndian}
	if binary.BigEndian.Uint16(b) == magic {
		s.order = binary.BigEndian
	}
	if m := s.order.Uint16(b); m != magic {
		return nil, fmt.Errorf("sframe: magic number %#x instead of %#x", m, magic)
	}
	s.Version, s.Flags, s.Arch, s.FixedFP, s.FixedRA = b[2], b[3], b[4], int8(b[5]), int8(b[6])
	if s.Version < 1 || s.Version > 3 {
		return nil, fmt.Errorf("sframe: version %d is unknown", s.Version)
	}
	if s.Flags&^(Sorted|FramePointer|PCRelative) != 0 {
		return nil, fmt.Errorf("sframe: flags %#x are unknown", s.Flags)
	}
	if s.Arch < ARM64Big || s.Arch > S390X {
		return nil, fmt.Errorf("sframe: architecture %d is unknown", s.Arch)
	}
	body := uint64(headerSize) + uint64(b[7])
	u32 := func(at int) uint64 { return uint64(s.order.Uint32(b[at:])) }
	fdes, fres, freLen := u32(8), u32(12), u32(16)
	fdeAt, freAt := body+u32(20), body+u32(24)
	size := uint64(fdeSize[s.Version])
	if end := fdeAt + fdes*size; end > uint64(len(b)) || end > freAt {
		return nil, fmt.Errorf("sframe: %d functions do not fit before the rows at byte %#x of %d", fdes, freAt, len(b))
	}
	if freAt+freLen > uint64(len(b)) || fres*2 > freLen {
		return nil, fmt.Errorf("sframe: %d rows in %d bytes at %#x do not fit into %d bytes", fres, freLen, freAt, len(b))
	}
	r := rows{s: s, b: b[freAt : freAt+freLen], left: fres}
	for i := range fdes {
		at := fdeAt + i*size
		f, err := r.function(b[at:at+size], at)
		if err != nil {
			return nil, fmt.Errorf("sframe: function %d at byte %#x: %w", i, at, err)
		}
		if s.Flags&Sorted != 0 && i > 0 {
			prev := s.Funcs[i-1]
			if f.Start < prev.Start {
				return nil, fmt.Errorf("sframe: function %d at byte %#x: not sorted", i, at)
			}
			if f.Start-prev.Start < uint64(prev.Size) {
				return nil, fmt.Errorf("sframe: function %d at byte %#x: overlaps the function before it", i, at)
			}
		}
		s.Funcs = append(s.Funcs, f)
	}
	if r.left != 0 {
		return nil, fmt.Errorf("sframe: %d rows belong to no function", r.left)
	}
	return s, nil
}

// rows reads the part of a section that holds the rows.
type rows struct {
	s    *Section
	b    []byte
	left uint64 // rows not read yet: functions that share rows cannot ask for more
}

var errShort = errors.New("ends early")

// function reads a function from its entry e, which lies at byte at of the section.
func (r *rows) function(e []byte, at uint64) (Func, error) {
	o := r.s.order
	f := Func{}
	base := r.s.Addr
	if r.s.Version == 3 || r.s.Flags&PCRelative != 0 {
		base += at
	}
	var off, n uint64
	var info byte
	if r.s.Version == 3 {
		f.Start, f.Size, off = base+o.Uint64(e), o.Uint32(e[8:]), uint64(o.Uint32(e[12:]))
		if off+5 > uint64(len(r.b)) {
			return f, fmt.Errorf("attributes at %#x: %w", off, errShort)
		}
		a := r.b[off:]
		n, info = uint64(o.Uint16(a)), a[2]
		f.Signal, f.Repeat = info&0x80 != 0, a[4]
		if t := a[3] & 0x1f; t > 1 {
			return f, fmt.Errorf("type %d is unknown", t)
		}
		f.Flexible = a[3]&1 != 0
		off += 5
	} else {
		f.Start, f.Size = base+uint64(int64(int32(o.Uint32(e)))), o.Uint32(e[4:])
		off, n, info = uint64(o.Uint32(e[8:])), uint64(o.Uint32(e[12:])), e[16]
		if r.s.Version == 2 {
			f.Repeat = e[17]
		}
	}
	if f.Start+uint64(f.Size) < f.Start {
		return f, errors.New("runs over the end of the address space")
	}
	f.Mask, f.KeyB = info&0x10 != 0, info&0x20 != 0
	if f.Mask && r.s.Version == 1 {
		f.Repeat = defaultMask
	}
	if f.Mask && f.Repeat == 0 {
		return f, errors.New("blocks of 0 bytes")
	}
	if info&0xf > 2 {
		return f, fmt.Errorf("type of rows %d is unknown", info&0xf)
	}
	if n > r.left {
		return f, fmt.Errorf("%d rows, where the section has %d more", n, r.left)
	}
	r.left -= n
	for i := range n {
		row, end, err := r.row(off, 1<<(info&0xf))
		if err == nil && (i > 0 && row.Start <= f.Rows[i-1].Start) {
			err = errors.New("not behind the row before it")
		}
		if err == nil && !f.Mask && row.Start > f.Size {
			err = errors.New("behind the end of the function")
		}
		if err == nil {
			_, err = r.s.Rule(&f, &row)
		}
		if err != nil {
			return f, fmt.Errorf("row %d at %#x: %w", i, off, err)
		}
		f.Rows = append(f.Rows, row)
		off = end
	}
	return f, nil
}

// row reads the row at off, and returns where it ends.
func (r *rows) row(off, startSize uint64) (Row, uint64, error) {
	if off+startSize+1 > uint64(len(r.b)) {
		return Row{}, 0, errShort
	}
	row := Row{Start: uint32(r.number(off, startSize))}
	info := r.b[off+startSize]
	row.SP, row.Mangled = info&1 != 0, info&0x80 != 0
	if info>>5&3 == 3 {
		return row, 0, errors.New("size of words is unknown")
	}
	n, size := uint64(info>>1&0xf), uint64(1)<<(info>>5&3)
	off += startSize + 1
	if off+n*size > uint64(len(r.b)) {
		return row, 0, errShort
	}
	for range n {
		shift := 64 - 8*size
		row.Words = append(row.Words, int32(int64(r.number(off, size)<<shift)>>shift))
		off += size
	}
	return row, off, nil
}

// number reads size bytes without a sign.
func (r *rows) number(off, size uint64) uint64 {
	switch b := r.b[off:]; size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.s.order.Uint16(b))
	default:
		return uint64(r.s.order.Uint32(b))
	}
}
