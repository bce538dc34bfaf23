package timeline

import (
	"encoding/binary"
	"math"
)

// Columns packs the events from an index on for a page: for each a float64 with the ns since
// the first event of all, then for each an int32 pid, then for each a uint16 CPU, then for
// each a uint16 with the number of its kind, then for each a uint16 with that of its buffer;
// all of them little-endian.
func (t *Timeline) Columns(from int) []byte {
	from = min(max(from, 0), t.n)
	n := t.n - from
	out := make([]byte, 18*n)
	pids, cpus, kinds, buffers := out[8*n:], out[12*n:], out[14*n:], out[16*n:]
	for i := range n {
		e := t.event(from + i)
		binary.LittleEndian.PutUint64(out[8*i:], math.Float64bits(float64(e.time-t.event(0).time)))
		binary.LittleEndian.PutUint32(pids[4*i:], uint32(e.pid))
		binary.LittleEndian.PutUint16(cpus[2*i:], e.cpu)
		binary.LittleEndian.PutUint16(kinds[2*i:], e.kind)
		binary.LittleEndian.PutUint16(buffers[2*i:], e.buffer)
	}
	return out
}

// Pack packs indices of events, little-endian.
func Pack(indices []uint32) []byte {
	out := make([]byte, 0, 4*len(indices))
	for _, i := range indices {
		out = binary.LittleEndian.AppendUint32(out, i)
	}
	return out
}
