package timeline

import (
	"encoding/binary"
	"math"
)

// Columns packs the events for a page: for each a float64 with the ns since the first one,
// then for each an int32 pid, then for each a uint16 CPU, then for each a uint16 with the
// number of its kind; all of them little-endian.
func (t *Timeline) Columns() []byte {
	n := len(t.times)
	out := make([]byte, 0, 16*n)
	for _, at := range t.times {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(at-t.times[0])))
	}
	for _, pid := range t.pids {
		out = binary.LittleEndian.AppendUint32(out, uint32(pid))
	}
	for _, cpu := range t.cpus {
		out = binary.LittleEndian.AppendUint16(out, cpu)
	}
	for _, kind := range t.kinds {
		out = binary.LittleEndian.AppendUint16(out, kind)
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
