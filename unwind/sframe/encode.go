package sframe

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode writes the section in a version, for the same address. Versions 2 and 3 count a
// function's start from its own field, as binutils does from 2.45 on. What a version
// cannot hold is an error.
func (s *Section) Encode(version uint8) ([]byte, error) {
	if version < 1 || version > 3 {
		return nil, fmt.Errorf("sframe: version %d is unknown", version)
	}
	o := s.order.(binary.AppendByteOrder)
	var fdes, fres []byte
	count := 0
	for i := range s.Funcs {
		f := &s.Funcs[i]
		bad := func(why string) error { return fmt.Errorf("sframe: function %d in version %d: %s", i, version, why) }
		base := s.Addr
		if version > 1 {
			base += uint64(headerSize + i*fdeSize[version])
		}
		start := int64(f.Start - base)
		switch {
		case version < 3 && start != int64(int32(start)):
			return nil, bad("its start is too far away")
		case version < 3 && (f.Flexible || f.Signal):
			return nil, bad("it is flexible or returns from a signal")
		case version == 1 && f.Mask && f.Repeat != defaultMask:
			return nil, bad(fmt.Sprintf("blocks of %d bytes", f.Repeat))
		case version == 3 && len(f.Rows) > math.MaxUint16:
			return nil, bad("too many rows")
		}
		kind := startType(f)
		info := kind | bit(f.Mask, 4) | bit(f.KeyB, 5)
		if version == 3 {
			fdes = o.AppendUint64(fdes, uint64(start))
		} else {
			fdes = o.AppendUint32(fdes, uint32(start))
		}
		fdes = o.AppendUint32(fdes, f.Size)
		fdes = o.AppendUint32(fdes, uint32(len(fres)))
		if version == 3 {
			fres = o.AppendUint16(fres, uint16(len(f.Rows)))
			fres = append(fres, info|bit(f.Signal, 7), bit(f.Flexible, 0), f.Repeat)
		} else {
			fdes = append(o.AppendUint32(fdes, uint32(len(f.Rows))), info)
		}
		if version == 2 {
			fdes = append(fdes, f.Repeat, 0, 0)
		}
		for j := range f.Rows {
			fres = s.appendRow(fres, &f.Rows[j], kind, version)
			count++
		}
	}
	flags := s.Flags &^ PCRelative
	if version > 1 {
		flags |= PCRelative
	}
	b := o.AppendUint16(nil, magic)
	b = append(b, version, flags, s.Arch, byte(s.FixedFP), byte(s.FixedRA), 0)
	for _, n := range []int{len(s.Funcs), count, len(fres), 0, len(fdes)} {
		b = o.AppendUint32(b, uint32(n))
	}
	return append(append(b, fdes...), fres...), nil
}

// startType is how many bytes the starts of rows take: 1<<type.
func startType(f *Func) byte {
	most := uint32(0)
	for _, r := range f.Rows {
		most = max(most, r.Start)
	}
	switch {
	case most <= math.MaxUint8:
		return 0
	case most <= math.MaxUint16:
		return 1
	}
	return 2
}

func bit(b bool, n int) byte {
	if b {
		return 1 << n
	}
	return 0
}

// appendRow writes a row. On s390x, version 3 numbers registers differently.
func (s *Section) appendRow(b []byte, r *Row, kind, version byte) []byte {
	o := s.order.(binary.AppendByteOrder)
	words := append([]int32(nil), r.Words...)
	if s.Arch == S390X && (s.Version == 3) != (version == 3) {
		for i := 1; i < len(words); i++ {
			switch {
			case words[i]&1 == 0:
			case version == 3:
				words[i] = words[i]>>1<<3 | 1
			default:
				words[i] = words[i]>>3<<1 | 1
			}
		}
	}
	size := byte(0)
	for _, w := range words {
		switch {
		case w != int32(int16(w)):
			size = 2
		case w != int32(int8(w)):
			size = max(size, 1)
		}
	}
	b = appendNumber(o, b, r.Start, kind)
	b = append(b, bit(r.SP, 0)|byte(len(words))<<1|size<<5|bit(r.Mangled, 7))
	for _, w := range words {
		b = appendNumber(o, b, uint32(w), size)
	}
	return b
}

func appendNumber(o binary.AppendByteOrder, b []byte, n uint32, size byte) []byte {
	switch size {
	case 0:
		return append(b, byte(n))
	case 1:
		return o.AppendUint16(b, uint16(n))
	}
	return o.AppendUint32(b, n)
}
