package timeline

import "ftracelab/budget"

// stored is what is kept of an event besides its bytes. It has no pointers, so the garbage
// collector does not look into millions of them.
type stored struct {
	time         uint64
	at, size     uint32 // where its bytes begin, see store.bytes, and how many there are
	pid          int32
	cpu          uint16
	kind, buffer uint16 // index into Timeline.types, and into the buffers of the file
}

const (
	blockShift = 14
	blockSize  = 1 << blockShift // events
	chunkShift = 20
	chunkSize  = 1 << chunkShift // bytes of records; no record is larger than a sub-buffer, which has at most as many

	storedSize = 32 // of a stored event
)

// store keeps events. What is kept never moves: it grows by blocks of events and by chunks
// of bytes, and no record crosses from one chunk to the next. Their memory is asked for in
// pieces that grow with what there is, because a browser takes long for each time that a
// program asks it for more.
type store struct {
	blocks     [][]stored
	chunks     [][]byte
	moreBlocks []stored // memory for the next ones
	moreChunks []byte
	n          int
}

// mostAtOnce is how many blocks or chunks memory is asked for at once.
const mostAtOnce = 32

// add keeps an event, whose bytes it copies. The error says that there is no memory for it.
func (s *store) add(e stored, data []byte, memory *budget.Budget) error {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(data) > cap(s.chunks[last]) {
		if len(s.moreChunks) == 0 {
			n := min(1+len(s.chunks)/2, mostAtOnce)
			if err := memory.Take(int64(n)*chunkSize, "the records of the time line"); err != nil {
				return err
			}
			s.moreChunks = make([]byte, n*chunkSize)
		}
		s.chunks = append(s.chunks, s.moreChunks[:0:chunkSize])
		s.moreChunks = s.moreChunks[chunkSize:]
		last++
	}
	if s.n == len(s.blocks)<<blockShift {
		if len(s.moreBlocks) == 0 {
			n := min(1+len(s.blocks)/2, mostAtOnce)
			if err := memory.Take(int64(n)*blockSize*storedSize, "the events of the time line"); err != nil {
				return err
			}
			s.moreBlocks = make([]stored, n*blockSize)
		}
		s.blocks = append(s.blocks, s.moreBlocks[:blockSize:blockSize])
		s.moreBlocks = s.moreBlocks[blockSize:]
	}
	e.at, e.size = uint32(last)<<chunkShift|uint32(len(s.chunks[last])), uint32(len(data))
	s.chunks[last] = append(s.chunks[last], data...)
	s.blocks[s.n>>blockShift][s.n&(blockSize-1)] = e
	s.n++
	return nil
}

// event is the one of that index.
func (s *store) event(i int) *stored { return &s.blocks[i>>blockShift][i&(blockSize-1)] }

// bytes is the record of an event.
func (s *store) bytes(e *stored) []byte {
	from := e.at & (chunkSize - 1)
	return s.chunks[e.at>>chunkShift][from : from+e.size : from+e.size]
}
