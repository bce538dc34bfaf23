package record_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
	"ftracelab/tracer/record/stackcode"
)

// flagsOf are the flags of a record made in a context.
var flagsOf = [...]uint8{ringbuf.Normal: 0, ringbuf.SoftIRQ: event.FlagSoftIRQ, ringbuf.IRQ: event.FlagHardIRQ | event.FlagSoftIRQ, ringbuf.NMI: event.FlagNMI | event.FlagHardIRQ}

// codedTrace writes stacks as what they share, between other records.
type codedTrace struct {
	ring    record.Ring
	r       *record.Recorder
	code    stackcode.Code
	written [][]uint64 // since the last reset
}

// fataler is what a test, a fuzz target and a rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func newCodedTrace(t fataler, code stackcode.Code, c ringbuf.Config, wide bool) *codedTrace {
	t.Helper()
	now := uint64(0)
	c.Clock = func(int) uint64 { now += 1000; return now }
	d := record.Design{Name: "coded", Kernel: record.CodedStack, Code: code}
	if wide {
		d.Ring = func(c ringbuf.Config) (record.Ring, error) {
			b, err := ringbuf.New(c)
			return aligned{b}, err
		}
	}
	stacks, err := record.NewStacks(d, record.CatalogueIDs())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := d.NewRing(c)
	if err != nil {
		t.Fatal(err)
	}
	return &codedTrace{ring: ring, r: record.NewRecorder(ring, stacks), code: code}
}

// stack writes one on a CPU.
func (c *codedTrace) stack(cpu int, ctx ringbuf.Context, ips []uint64) error {
	mode, err := c.r.WriteKernelStack(cpu, ctx, &record.Stack{Common: event.Common{Flags: flagsOf[ctx], PID: 3}, IPs: ips})
	if err == nil && mode != record.CodedStack && mode != record.FullStack {
		return fmt.Errorf("the stack was written as mode %d", mode)
	}
	if err == nil {
		c.written = append(c.written, slices.Clone(ips))
	}
	return err
}

// read takes the pages of a CPU out of the ring and reads the stacks of each one alone.
func (c *codedTrace) read(cpu, subbuf int) (pages [][][]uint64, err error) {
	page := make([]byte, subbuf)
	for c.ring.ReadPage(cpu, page, false) {
		p, err := ringbuf.ReadPageImage(page)
		if err != nil {
			return nil, err
		}
		reader := record.NewCodedReader(c.code)
		reader.Reset()
		var stacks [][]uint64
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			if !e.IsData() {
				continue
			}
			var ips []uint64
			switch event.ParseCommon(e.Data).Type {
			case uint16(events.CodedStack.ID):
				if ips, err = reader.Stack(e.Data); err != nil {
					return nil, fmt.Errorf("page %d, offset %d: %w", len(pages), e.Offset, err)
				}
				if full := ringbuf.EventSize(16 + 8*len(ips)); e.Size > full+4 { // an aligned ring adds 4
					return nil, fmt.Errorf("%d addresses take %d bytes, in full %d", len(ips), e.Size, full)
				}
			case uint16(events.KernelStack.ID):
				for at := 16; at+8 <= len(e.Data); at += 8 {
					ips = append(ips, le(e.Data[at:], 8))
				}
				if n := int(le(e.Data[8:], 4)); n < len(ips) {
					ips = ips[:n] // behind them an aligned ring has zeros
				}
			default:
				continue
			}
			stacks = append(stacks, slices.Clone(ips))
		}
		if p.Err() != nil {
			return nil, p.Err()
		}
		pages = append(pages, stacks)
	}
	return pages, nil
}

// TestCodedStacksAfterOverwrite: each sub-buffer that is left gives back its stacks whole,
// by itself, whatever was overwritten or discarded, in whatever contexts they were
// recorded, and after resets.
func TestCodedStacksAfterOverwrite(t *testing.T) {
	const subbuf = 4096
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]stackcode.Code{stackcode.Prefix, stackcode.Delta}).Draw(t, "code")
		size := rapid.IntRange(2, 3).Draw(t, "pages") * (subbuf - ringbuf.PageHeaderSize)
		cfg := ringbuf.Config{CPUs: 1, Size: size, SubbufSize: subbuf, NoOverwrite: rapid.Bool().Draw(t, "no overwrite")}
		c := newCodedTrace(t, code, cfg, rapid.Bool().Draw(t, "aligned ring"))
		address := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0xffffffff81000000, 0xffffffff81000fff))
		var root, before []uint64
		for n := range rapid.IntRange(1, 250).Draw(t, "steps") {
			name := fmt.Sprint(n)
			ctx := rapid.SampledFrom([]ringbuf.Context{ringbuf.Normal, ringbuf.Normal, ringbuf.SoftIRQ, ringbuf.IRQ, ringbuf.NMI}).Draw(t, name+" context")
			switch what := rapid.IntRange(0, 99).Draw(t, name); {
			case what < 70:
				ips := append(rapid.SliceOfN(address, 0, 12).Draw(t, name+" own"), root...)
				if what < 10 {
					ips = before
				}
				if what == 69 && len(ips) > 0 {
					ips = slices.Repeat(ips[:1], rapid.IntRange(400, 700).Draw(t, name+" deep"))
				}
				before = ips
				if err := c.stack(0, ctx, ips); err != nil && err != ringbuf.ErrTooBig && err != ringbuf.ErrFull {
					t.Fatal(err)
				}
			case what < 80:
				root = rapid.SliceOfN(address, 0, 30).Draw(t, name+" root")
			case what < 90:
				_ = c.r.Event(0, ctx, make([]byte, rapid.IntRange(8, 300).Draw(t, name+" event")))
			case what < 98:
				s, err := c.r.Open(0, ctx, rapid.IntRange(8, 300).Draw(t, name+" slot"))
				if err != nil {
					continue
				}
				inner := ringbuf.NMI
				if ctx == inner {
					s.Discard()
					continue
				}
				_ = c.stack(0, inner, before)
				s.Discard()
			default:
				if b, ok := c.ring.(*ringbuf.Buffer); ok {
					b.Reset(0)
					c.written = nil
				}
			}
		}
		pages, err := c.read(0, subbuf)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Concat(pages...)
		want := c.written
		if cfg.NoOverwrite {
			if len(got) != len(want) {
				t.Fatalf("%d stacks, want %d", len(got), len(want))
			}
		} else if len(got) > len(want) {
			t.Fatalf("%d stacks, %d were written", len(got), len(want))
		} else {
			want = want[len(want)-len(got):]
		}
		for n := range got {
			if !slices.Equal(got[n], want[n]) {
				t.Fatalf("stack %d of %d: %#x, want %#x", n, len(got), got[n], want[n])
			}
		}
	})
}

// TestCodedRecord: the bytes of the records, and how many the ring takes for them.
func TestCodedRecord(t *testing.T) {
	const text = 0xffffffff81000000
	for _, c := range []struct {
		code   stackcode.Code
		stacks [][]uint64
		sizes  []int // with the event header
	}{
		// 4 + 12 + 8·n, and the last one shares two of three addresses.
		{stackcode.Prefix, [][]uint64{{text + 2, text + 1, text}, {text + 9, text + 1, text}, {text + 9, text + 1, text}}, []int{40, 24, 16}},
		// 4 + 12 + 5 + 1 + 1, filled up to a multiple of 4; then one byte; then none.
		{stackcode.Delta, [][]uint64{{text + 2, text + 1, text}, {text + 9, text + 1, text}, {text + 9, text + 1, text}}, []int{24, 20, 16}},
		// Differences of 10 bytes each: the whole stack is shorter, and no reference.
		{stackcode.Delta, [][]uint64{slices.Repeat([]uint64{1 << 62, 3 << 62}, 8), {text}, {text + 1}}, []int{4 + 4 + 16 + 8*16, 24, 20}},
	} {
		tr := newCodedTrace(t, c.code, ringbuf.Config{CPUs: 1, Size: 1 << 16, SubbufSize: 4096}, false)
		for _, ips := range c.stacks {
			if err := tr.stack(0, ringbuf.Normal, ips); err != nil {
				t.Fatal(err)
			}
		}
		page := make([]byte, 4096)
		tr.ring.ReadPage(0, page, false)
		p, err := ringbuf.ReadPageImage(page)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			sizes = append(sizes, e.Size)
		}
		if !slices.Equal(sizes, c.sizes) {
			t.Errorf("%v %#x: sizes %d, want %d", c.code, c.stacks, sizes, c.sizes)
		}
	}
}

// TestCodedOneContext: a context has its own references, on each CPU.
func TestCodedOneContext(t *testing.T) {
	c := newCodedTrace(t, stackcode.Prefix, ringbuf.Config{CPUs: 2, Size: 1 << 16, SubbufSize: 4096}, false)
	for _, ctx := range []ringbuf.Context{ringbuf.Normal, ringbuf.SoftIRQ, ringbuf.IRQ, ringbuf.NMI} {
		for cpu := range 2 {
			if err := c.stack(cpu, ctx, []uint64{1, 2}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.stack(0, ringbuf.SoftIRQ, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	page := make([]byte, 4096)
	for cpu, want := range []string{"2 0, 2 0, 2 0, 2 0, 0 2, ", "2 0, 2 0, 2 0, 2 0, "} {
		c.ring.ReadPage(cpu, page, false)
		p, err := ringbuf.ReadPageImage(page)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			var r events.CodedStackRecord
			if err := events.CodedStack.Decode(e.Data, &r); err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%d %d, ", r.Own, r.Shared)
		}
		if got != want {
			t.Errorf("cpu %d: own and shared are %s want %s", cpu, got, want)
		}
	}
}

// TestCodedDamage: what stands on a damaged record is not read either, until the next
// sub-buffer; another context is.
func TestCodedDamage(t *testing.T) {
	made := func(flags uint8, own, shared uint16, rest ...byte) []byte {
		return events.CodedStack.Append(nil, event.Common{Flags: flags}, &events.CodedStackRecord{Own: own, Shared: shared, Rest: rest})
	}
	d := record.NewCodedReader(stackcode.Delta)
	for _, c := range []struct {
		data  []byte
		reset bool
		want  []uint64
		err   string
	}{
		{data: made(0, 1, 0, 2), want: []uint64{1}},
		{data: made(event.FlagNMI, 1, 0, 4), want: []uint64{2}},
		{data: made(0, 1, 2, 2), err: "coded stack: it shares 2 addresses with a stack of 1"},
		{data: made(0, 1, 0, 2), err: "a stack before it cannot be read: it shares 2 addresses with a stack of 1"},
		{data: made(event.FlagNMI, 0, 1), want: []uint64{2}},
		{data: made(0, 1, 0, 2)[:11], err: "coded stack: a record of 11 bytes, needs 12"},
		{data: made(0, 1, 0, 2), reset: true, want: []uint64{1}},
		{data: made(event.FlagNMI, 0, 1), err: "coded stack: it shares 1 addresses with a stack of 0"},
	} {
		if c.reset {
			d.Reset()
		}
		got, err := d.Stack(c.data)
		if fmt.Sprint(err) != c.err && (err != nil || c.err != "") || !slices.Equal(got, c.want) {
			t.Errorf("% x: %#x, %v, want %#x, %s", c.data, got, err, c.want, c.err)
		}
	}
}

// FuzzCodedReader: no page makes the reader panic; and a stack that it reads is the same
// when it is coded after the same reference and read again.
func FuzzCodedReader(f *testing.F) {
	for _, code := range []stackcode.Code{stackcode.Prefix, stackcode.Delta} {
		c := newCodedTrace(f, code, ringbuf.Config{CPUs: 1, Size: 1 << 14, SubbufSize: 4096}, false)
		for n := range uint64(6) {
			if err := c.stack(0, ringbuf.Context(n%2), []uint64{n, 0xffffffff81000100 + n, 0xffffffff81000000}); err != nil {
				f.Fatal(err)
			}
		}
		page := make([]byte, 4096)
		c.ring.ReadPage(0, page, false)
		f.Add(page[:400], code == stackcode.Delta)
	}
	f.Fuzz(func(t *testing.T, page []byte, delta bool) {
		code := stackcode.Prefix
		if delta {
			code = stackcode.Delta
		}
		p, err := ringbuf.ReadPageImage(page)
		if err != nil {
			return
		}
		d := record.NewCodedReader(code)
		var last [4][]uint64
		for e, ok := p.Next(); ok; e, ok = p.Next() {
			if !e.IsData() {
				continue
			}
			ips, err := d.Stack(e.Data)
			if err != nil {
				continue
			}
			if len(ips) > len(page) {
				t.Fatalf("%d addresses on a page of %d bytes", len(ips), len(page))
			}
			flags := event.ParseCommon(e.Data).Flags
			ref := &last[slices.IndexFunc([]uint8{event.FlagNMI, event.FlagHardIRQ, event.FlagSoftIRQ, 0}, func(f uint8) bool { return flags&f == f })]
			shared := stackcode.Shared(*ref, ips)
			again, err := code.Decode(nil, *ref, len(ips)-shared, shared, code.Append(nil, *ref, ips, shared))
			if err != nil || !slices.Equal(again, ips) {
				t.Fatalf("%#x becomes %#x: %v", ips, again, err)
			}
			*ref = slices.Clone(ips)
		}
	})
}
