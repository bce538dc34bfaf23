package tracedat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compressions are the kinds of compression: the name, and the version that is noted in
// a file that is written.
var compressions = []struct{ name, version string }{
	{"none", ""},
	{"zlib", "1.2.13"},
	{"zstd", "1.5.4"},
}

// Compressions gives the possible values of Target.Compression.
func Compressions() []string {
	var names []string
	for _, c := range compressions {
		names = append(names, c.name)
	}
	return names
}

func knownCompression(name string) bool { return slices.Contains(Compressions(), name) }

// unpacker unpacks the parts of a file.
type unpacker struct {
	once sync.Once
	zstd *zstd.Decoder // for one goroutine at a time; others wait
	err  error
}

// unpack gives the size bytes that are packed in in. It may use the memory of dst. It
// takes hardly more memory than size bytes, whatever in really unpacks to.
func (f *File) unpack(dst, in []byte, size int) (data []byte, err error) {
	switch f.Compression {
	case "zstd":
		data, err = f.unpacker.unzstd(dst, in, size)
	case "zlib":
		data, err = unzlib(dst, in, size)
	default:
		return nil, fmt.Errorf("a packed part, but the file's compression is %q", f.Compression)
	}
	if err == nil && len(data) != size {
		err = fmt.Errorf("not the %d bytes that were announced", size)
	}
	return data, err
}

func unzlib(dst, in []byte, size int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(in))
	if err != nil {
		return nil, err
	}
	// The announced size is not believed if deflate cannot pack that well.
	if size > deflateRatio*(len(in)+1) {
		return nil, fmt.Errorf("%d bytes do not unpack to the %d that were announced", len(in), size)
	}
	data := slices.Grow(dst[:0], size)[:size]
	_, err = io.ReadFull(z, data)
	if err == nil {
		_, err = io.ReadFull(z, make([]byte, 1))
		switch {
		case err == nil:
			err = errors.New("more than the bytes that were announced")
		case errors.Is(err, io.EOF):
			err = nil
		}
	}
	return data, errors.Join(err, z.Close())
}

// deflateRatio is more than deflate can ever shrink its input by.
const deflateRatio = 1040

// The decoder is fast if a whole block has room behind what is decoded already.
const (
	zstdBlock = 128 << 10
	zstdSlack = 64
	maxWindow = 512 << 20 // the largest window of a frame; it costs nothing, as a frame is unpacked into one piece
)

func (u *unpacker) unzstd(dst, in []byte, size int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(in); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize > uint64(size) { // otherwise the decoder would allocate that much
		return nil, fmt.Errorf("a frame of %d bytes, not the %d that were announced", h.FrameContentSize, size)
	}
	u.once.Do(func() {
		u.zstd, u.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
	})
	if u.err != nil {
		return nil, u.err
	}
	// trace-cmd's frames do not tell their size. The capacity of dst tells the decoder.
	if room := size + zstdBlock + zstdSlack; cap(dst) < room {
		dst = make([]byte, 0, room)
	}
	return u.zstd.DecodeAll(in, dst[:0])
}

// packer packs the parts of a file.
type packer struct {
	name string
	zstd *zstd.Encoder
}

func newPacker(name string) (*packer, error) {
	p := &packer{name: name}
	if name != "zstd" {
		return p, nil
	}
	var err error
	p.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	return p, err
}

// pack packs data into one frame.
func (p *packer) pack(data []byte) ([]byte, error) {
	if p.name == "zstd" {
		return p.zstd.EncodeAll(data, nil), nil
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}

// stream gives a writer that packs into one frame and passes it on to out, of which it
// holds little in memory.
func (p *packer) stream(out io.Writer) (io.WriteCloser, error) {
	if p.name == "zstd" {
		return zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	}
	return zlib.NewWriter(out), nil
}

func (p *packer) close() error {
	if p.zstd == nil {
		return nil
	}
	return p.zstd.Close()
}
