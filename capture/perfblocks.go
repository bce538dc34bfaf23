package capture

import (
	"bytes"
	"io"
)

// perfBlock is a piece of the text of perf script. It ends where a sample ends.
type perfBlock struct {
	data []byte
	off  int64 // where data lies in the file
	last bool
	err  error // why the file cannot be read behind data, or why something was passed over
	// How many bytes and newlines are passed over in front of data.
	lost, lines int

	memory []byte // holds data; goes back to the blockReader when data is parsed
}

const (
	blockSize  = 1 << 20 // bytes read at once, and the longest sample
	blockCount = 4
)

// blockReader cuts a text into blocks.
type blockReader struct {
	in   io.Reader
	name string
	rest []byte // the beginning of a sample, left over from the block before
	off  int64
	long bool // the next byte lies inside a sample that is too long
}

// run sends blocks, up to the last one, or until stop is closed. It takes memory for
// them from free.
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

// next reads a block into buf, which has room for two samples of the greatest length.
func (r *blockReader) next(buf []byte) perfBlock {
	n := copy(buf, r.rest)
	m, err := io.ReadFull(r.in, buf[n:n+blockSize])
	data := buf[:n+m]
	b := perfBlock{off: r.off, memory: buf}
	if r.long {
		i := bytes.Index(data, []byte("\n\n"))
		skip := i + 2
		if r.long = i < 0; r.long {
			skip = max(0, len(data)-1) // the last byte may be the first half of a blank line
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

// lose passes over the first n bytes of data, and counts them.
func (b *perfBlock) lose(data []byte, n int) (rest []byte) {
	b.lost += n
	b.lines += bytes.Count(data[:n], []byte("\n"))
	b.off += int64(n)
	return data[n:]
}

// sampleEnd finds the end of the last whole sample. That is a blank line; in text
// without blank lines it is a line that is followed by one that is no frame.
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
