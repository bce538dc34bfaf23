package summary

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/cespare/xxhash/v2"
)

const (
	magic   = "FTLS"
	version = 1
)

// IsSummary reports whether a file that begins with these bytes is a summary, of
// whichever version.
func IsSummary(head []byte) bool {
	return len(head) >= len(magic) && string(head[:len(magic)]) == magic
}

// Encode writes s, whose lists are in the order of the file, as [Summary.Sort]
// and [Merger.Sum] leave them.
func Encode(w io.Writer, s *Summary) error {
	hash := xxhash.New()
	out := bufio.NewWriter(w)
	e := encoder{io.MultiWriter(out, hash), make([]byte, 0, 512)}
	e.buf = append(e.buf, magic...)
	e.number(version)

	e.number(uint64(len(s.Machines)))
	for n := range s.Machines {
		m := &s.Machines[n]
		e.number(uint64(len(m.Name)))
		e.buf = append(e.buf, m.Name...)
		for _, f := range m.figures() {
			e.number(*f)
		}
		e.flush()
	}
	e.number(uint64(len(s.CPUs)))
	for _, c := range s.CPUs {
		e.number(c.Machines, c.Events, c.Micros)
		e.flush()
	}
	e.number(uint64(len(s.Sizes)))
	last := uint64(0)
	for _, size := range s.Sizes {
		e.number(size.Bytes-last, size.Events)
		last = size.Bytes
		e.flush()
	}
	e.number(uint64(s.Level), uint64(len(s.Stacks)))
	last = 0
	for _, st := range s.Stacks {
		e.number(st.Hash-last, st.Depth, st.Count)
		last = st.Hash
		e.flush()
	}
	e.flush()
	if _, err := out.Write(binary.LittleEndian.AppendUint64(nil, hash.Sum64())); err != nil {
		return err
	}
	return out.Flush()
}

// encoder collects numbers. An error of the writer shows when that is flushed.
type encoder struct {
	to  io.Writer
	buf []byte
}

func (e *encoder) number(ns ...uint64) {
	for _, n := range ns {
		e.buf = binary.AppendUvarint(e.buf, n)
	}
}

func (e *encoder) flush() {
	e.to.Write(e.buf)
	e.buf = e.buf[:0]
}
