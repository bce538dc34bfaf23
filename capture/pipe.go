package capture

import (
	"context"
	"io"

	"github.com/smallnest/ringbuffer"
)

// pipeSize is how many bytes decompression may run ahead of the parser.
const pipeSize = 1 << 20

// pipe runs a reader in a goroutine of its own and hands its bytes on through a bounded
// ring, so that decompression and parsing can use a core each. With one writer, one
// reader and a plain stream of bytes, a byte ring is the right tool.
type pipe struct {
	ring   *ringbuffer.RingBuffer
	cancel context.CancelFunc
	done   chan struct{}
	err    error // why the writer ended; to be read only after the ring has given io.EOF
}

func newPipe(src io.Reader) *pipe {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipe{
		ring:   ringbuffer.New(pipeSize).SetBlocking(true).WithCancel(ctx),
		cancel: cancel,
		done:   make(chan struct{}),
	}
	go p.fill(src)
	return p
}

// fill never closes the ring with the source's error. The error would overtake the
// bytes that are still in the ring, and timing would decide how many records come
// before it.
func (p *pipe) fill(src io.Reader) {
	defer close(p.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := p.ring.Write(buf[:n]); werr != nil {
				return // the reader has closed the ring
			}
		}
		if err != nil {
			p.err = err
			p.ring.CloseWriter()
			return
		}
	}
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.ring.Read(b)
	if err == io.EOF {
		<-p.done
		err = p.err
	}
	return n, err
}

// Close stops the goroutine and waits for it. It does not return while the source
// blocks.
func (p *pipe) Close() {
	p.cancel()
	p.ring.CloseWithError(context.Canceled)
	<-p.done
}
