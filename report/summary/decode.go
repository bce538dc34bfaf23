package summary

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"ftracelab/budget"
)

// Error says why a file is not a summary that can be read, and where.
type Error struct {
	Offset int64 // in bytes; -1: not known
	What   string
	Err    error // the error of the reader; may be nil
}

func (e *Error) Error() string {
	text := e.What
	if e.Offset >= 0 {
		text = fmt.Sprintf("offset %d: %s", e.Offset, e.What)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// Decode reads a summary. An [*Error] says what is wrong with the file. If the budget
// has no room for what it holds, the error is a [*budget.Error]; nil is a budget of the
// default size.
func Decode(r io.Reader, memory *budget.Budget) (*Summary, error) {
	d := decoder{memory: budget.OrDefault(memory)}
	return d.decode(r)
}

// decoder reads one file. After its first error it reads only zeros.
type decoder struct {
	in     *bufio.Reader
	hash   *xxhash.Digest
	offset int64
	err    error

	memory *budget.Budget
	held   int64 // what was taken of it
}

func (d *decoder) decode(r io.Reader) (*Summary, error) {
	d.in, d.hash = bufio.NewReader(r), xxhash.New()
	if head := d.bytes(len(magic)); d.err == nil && !IsSummary(head) {
		d.err = &Error{What: "not a summary"}
	}
	if v := d.number(); v != version {
		d.fail("version %d of the format, where this program reads version %d", v, version)
	}
	s := new(Summary)
	d.machines(s)
	d.cpus(s)
	d.sizes(s)
	d.stacks(s)
	d.end()
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// totals are the sums over the rows with which the other counts are compared.
type totals struct{ events, micros, kernelStacks uint64 }

func (s *Summary) totals() (t totals) {
	for n := range s.Machines {
		t.events += s.Machines[n].Events
		t.micros += s.Machines[n].Micros
		t.kernelStacks += s.Machines[n].KernelStacks
	}
	return t
}

func (d *decoder) machines(s *Summary) {
	for range d.count("machines", MaxMachines) {
		var m Machine
		length := d.number()
		if length > MaxName {
			d.fail("a name of %d bytes, where %d are allowed", length, MaxName)
			return
		}
		m.Name = string(d.bytes(int(length)))
		for _, f := range m.figures() {
			*f = d.number()
		}
		if what := m.check(); what != "" {
			d.fail("machine %q has %s", m.Name, what)
		}
		if n := len(s.Machines); n > 0 && compare(&s.Machines[n-1], &m) > 0 {
			d.fail("the machines are not in order")
		}
		if !d.take(machineCost, "the rows of the machines") {
			return
		}
		s.Machines = append(s.Machines, m)
	}
}

func (d *decoder) cpus(s *Summary) {
	t, machines := s.totals(), uint64(len(s.Machines))
	for range d.count("CPUs", MaxCPUs) {
		c := CPU{d.number(), d.number(), d.number()}
		if c.Machines > machines || c.Events > t.events || c.Micros > t.micros {
			d.fail("a CPU has more than all machines together")
		}
		if d.err != nil {
			return
		}
		s.CPUs = append(s.CPUs, c)
	}
	left := t.events
	for _, c := range s.CPUs {
		if c.Events > left {
			d.fail("the CPUs have more events than the machines")
			return
		}
		left -= c.Events
	}
	if left > 0 {
		d.fail("the CPUs have fewer events than the machines")
	}
	if n := len(s.CPUs); n > 0 && s.CPUs[n-1].Machines == 0 {
		d.fail("no machine has the last CPU")
	}
}

func (d *decoder) sizes(s *Summary) {
	left := s.totals().events
	size := uint64(0)
	for range d.count("sizes of records", MaxSize) {
		step, events := d.number(), d.number()
		if step == 0 || step > MaxSize-size || events == 0 || events > left {
			d.fail("a size of records that cannot be")
		}
		if d.err != nil {
			return
		}
		size, left = size+step, left-events
		s.Sizes = append(s.Sizes, Size{size, events})
	}
	if left > 0 {
		d.fail("there are fewer sizes of records than events")
	}
}

func (d *decoder) stacks(s *Summary) {
	left := s.totals().kernelStacks
	level := d.number()
	if level > 64 {
		d.fail("a sample of level %d", level)
		return
	}
	s.Level = uint(level)
	hash := uint64(0)
	for n := range d.count("stacks", MaxStacks) {
		step, depth, count := d.number(), d.number(), d.number()
		if n > 0 && step == 0 || hash+step < hash || depth > MaxDepth || count == 0 || count > left || !sampled(hash+step, s.Level) {
			d.fail("a stack that cannot be")
		}
		if !d.take(stackCost, "the different stacks") {
			return
		}
		hash, left = hash+step, left-count
		s.Stacks = append(s.Stacks, Stack{hash, depth, count})
	}
}

// end reads the checksum, after which nothing may follow.
func (d *decoder) end() {
	if d.err != nil {
		return
	}
	at, want := d.offset, d.hash.Sum64()
	if sum := d.bytes(8); sum != nil && binary.LittleEndian.Uint64(sum) != want {
		d.err = &Error{Offset: at, What: "the checksum is that of other bytes"}
	}
	if _, err := d.in.Peek(1); err == nil {
		d.fail("something follows the end")
	} else if err != io.EOF {
		d.broken(err)
	}
}

// count reads the number of entries of a list.
func (d *decoder) count(what string, most uint64) uint64 {
	n := d.number()
	if n > most {
		d.fail("%d %s, where %d are the most", n, what, most)
	}
	if d.err != nil {
		return 0
	}
	return n
}

// take asks for memory. It reports false after any error.
func (d *decoder) take(n int64, what string) bool {
	if d.err != nil {
		return false
	}
	if d.err = d.memory.Take(n, what); d.err != nil {
		return false
	}
	d.held += n
	return true
}

// number reads a varint.
func (d *decoder) number() uint64 {
	if d.err != nil {
		return 0
	}
	head, err := d.in.Peek(binary.MaxVarintLen64)
	n, length := binary.Uvarint(head)
	switch {
	case length == 0:
		d.broken(err)
		return 0
	case length < 0, length > 1 && head[length-1] == 0:
		d.fail("a number that is not in its shortest form")
		return 0
	}
	d.skip(head[:length])
	return n
}

// bytes reads n bytes, nil after an error.
func (d *decoder) bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	head, err := d.in.Peek(n)
	if len(head) < n {
		d.broken(err)
		return nil
	}
	head = bytes.Clone(head)
	d.skip(head)
	return head
}

// skip goes on behind bytes that were read.
func (d *decoder) skip(read []byte) {
	d.hash.Write(read)
	d.in.Discard(len(read))
	d.offset += int64(len(read))
}

// fail notes the first error.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Offset: d.offset, What: fmt.Sprintf(format, args...)}
	}
}

// broken notes that the reader has no more bytes.
func (d *decoder) broken(err error) {
	if errors.Is(err, io.EOF) || err == nil {
		d.fail("the file ends too early")
	} else if d.err == nil {
		d.err = &Error{Offset: d.offset, What: "cannot read", Err: err}
	}
}
