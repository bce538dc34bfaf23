package tool

import "io"

// StdioBlock is the size of a C program's writes to a file.
const StdioBlock = 4096

// CopyBlock is how much is read at a time by a program that copies.
const CopyBlock = 128 << 10

// Output is a program's standard output: full blocks are written as they come and
// the rest at the end, as stdio does it. The first error stays.
type Output struct {
	W     io.Writer
	Block int // 0: write through
	// Whole says that a write is a command to the file behind W, so that nothing but
	// whole blocks and the end may cause one.
	Whole bool
	buf   []byte
	err   error
}

// Err is the first error of a write.
func (o *Output) Err() error { return o.err }

func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.Block == 0 {
		_, o.err = o.W.Write(p)
		return len(p), o.err
	}
	o.buf = append(o.buf, p...)
	whole := o.buf
	for len(whole) >= o.Block && o.err == nil {
		_, o.err = o.W.Write(whole[:o.Block])
		whole = whole[o.Block:]
	}
	o.buf = append(o.buf[:0], whole...)
	return len(p), o.err
}

// Flush writes what is buffered.
func (o *Output) Flush() error {
	if o.err == nil && len(o.buf) > 0 {
		_, o.err = o.W.Write(o.buf)
	}
	o.buf = o.buf[:0]
	return o.err
}

// FlushForReader shows what there is before the program waits for input, except where
// Whole forbids it.
func (o *Output) FlushForReader() {
	if !o.Whole {
		o.Flush()
	}
}
