package capture

import (
	"context"
	"io"

	"github.com/smallnest/ringbuffer"
)

// pipeSize is how far decompression may run ahead of the parser.
const pipeSize = 1 << 20

// pipe runs a reader in a goroutine of its own and hands its bytes on through a
// bounded ring, so that decompression and parsing take a core each. One writer,
// one reader, bytes without frames: what a byte ring is good for.
type pipe struct {
	ring   *ringbuffer.RingBuffer
	cancel context.CancelFunc
	done   chan struct{}
	err    error // why the writer ended; read after the ring's io.EOF
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

// fill never closes the ring with the source's error: that would overtake the
// bytes still in the ring, and how many records come before the error would be a
// matter of timing.
func (p *pipe) fill(src io.Reader) {
	defer close(p.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, werr := p.ring.Write(buf[:n]); werr != nil {
				return // closed by the reader
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

// Close stops the goroutine and waits for it; the source must not block for ever.
func (p *pipe) Close() {
	p.cancel()
	p.ring.CloseWithError(context.Canceled)
	<-p.done
}
