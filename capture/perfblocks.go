package capture

import (
	"bytes"
	"io"
)

// perfBlock is a piece of perf script's text that ends where a sample ends.
type perfBlock struct {
	data []byte
	off  int64 // of data in the file
	last bool
	err  error // of the file behind data, or of what was passed over
	// Bytes and newlines that are passed over in front of data.
	lost, lines int

	memory []byte // to give back
}

const (
	blockSize  = 1 << 20 // read at once; a sample may be as long
	blockCount = 4
)

// blockReader cuts a text into blocks.
type blockReader struct {
	in   io.Reader
	name string
	rest []byte // of the block before: the beginning of a sample
	off  int64
	long bool // inside a sample that is too long
}

// run sends the blocks until the last one. It takes their memory from free and stops
// when stop is closed.
func (r *blockReader) run(out chan<- perfBlock, free <-chan []byte, stop <-chan struct{}) {
	defer close(out)
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-stop:
			return
		}
		if buf == nil {
			buf = make([]byte, 2*blockSize+1)
		}
		b := r.next(buf)
		select {
		case out <- b:
		case <-stop:
			return
		}
		if b.last {
			return
		}
	}
}

// next fills buf, which holds two of the largest samples.
func (r *blockReader) next(buf []byte) perfBlock {
	n := copy(buf, r.rest)
	m, err := io.ReadFull(r.in, buf[n:n+blockSize])
	data := buf[:n+m]
	b := perfBlock{off: r.off, memory: buf}
	if r.long {
		i := bytes.Index(data, []byte("\n\n"))
		skip := i + 2
		if r.long = i < 0; r.long {
			skip = max(0, len(data)-1) // half a blank line may come
		}
		data = b.lose(data, skip)
	}
	end := len(data)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		b.last = true
		if r.long {
			end = 0
		}
	case err != nil:
		b.last, b.err = true, readFault(r.name, err)
		end = sampleEnd(data)
		b.lost += len(data) - end
	case r.long:
		end = 0
	default:
		if end = sampleEnd(data); end == 0 && len(data) > blockSize {
			b.err = &Error{File: r.name, Offset: b.off, What: "a sample or line longer than 1 MiB"}
			r.long = true
			data = b.lose(data, len(data)-1)
		}
	}
	b.data, r.rest = data[:end], data[end:]
	r.off = b.off + int64(end)
	return b
}

// lose passes over the first n bytes of data.
func (b *perfBlock) lose(data []byte, n int) (rest []byte) {
	b.lost += n
	b.lines += bytes.Count(data[:n], []byte("\n"))
	b.off += int64(n)
	return data[n:]
}

// sampleEnd finds the end of the last whole sample: a blank line, or in text without
// them a line that is followed by one that is not a frame.
func sampleEnd(data []byte) int {
	const near = 64 << 10
	tail := max(0, len(data)-near)
	if i := bytes.LastIndex(data[tail:], []byte("\n\n")); i >= 0 {
		return tail + i + 2
	}
	for end := len(data); end > tail; {
		i := bytes.LastIndexByte(data[tail:end], '\n')
		if i < 0 {
			break
		}
		if next := tail + i + 1; next < len(data) && data[next] != '\t' {
			return next
		}
		end = tail + i
	}
	if i := bytes.LastIndex(data[:tail], []byte("\n\n")); i >= 0 {
		return i + 2
	}
	return 0
}
