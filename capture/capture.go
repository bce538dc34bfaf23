package capture

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"ftracelab/budget"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// Options say how a capture is read. With the zero value, Open finds out what it needs
// itself.
type Options struct {
	// Context, once it is done, makes each further read of a file fail with its error.
	// A read that is waiting at that moment goes on waiting. nil: reading is never cut
	// short.
	Context context.Context
	// Read, if not nil, counts the bytes that are read from the files of the host. What
	// is read twice counts twice.
	Read *atomic.Int64
	// Format is one of [Formats]; empty: the content tells the format.
	Format string
	// Kernel names the folder with the kernel's formats_all(.txt, .gz), kallsyms and
	// header_page; empty: these are looked for beside the capture and in the folders
	// above it. For [OpenFS] it is a path in that file system.
	Kernel string
	// StackMap names the stack_map or stack_map_bin of a capture that was made with a
	// stackmap; empty: the one in the capture's folder is used. For [OpenFS] it is a
	// path in that file system.
	StackMap string
	// StackIDs leaves stack ids as they are, instead of replacing them by the stacks
	// that they stand for.
	StackIDs bool
	// Shown is the name that errors give to the capture that [OpenFS] opens; empty: its
	// path.
	Shown string
	// KeepGoing skips what cannot be read and counts it in [Info], instead of
	// ending with an error.
	KeepGoing bool
	// Cache, if not nil, keeps what is read from Kernel for the next capture. With
	// [OpenFS] it also keeps the kernel's files of that file system: the buffers of a
	// trace.dat share them.
	Cache *Cache
	// Memory limits how much memory the capture, and what is computed from it, may
	// take; nil is a budget of the default size. A capture never gives memory back to
	// the budget, so each capture needs a budget of its own, or works with what is
	// left.
	Memory *budget.Budget
	// Instance names the instance of a trace.dat whose buffer is read; empty: the top
	// buffer.
	Instance string
	// Frames says whether the frames of folded stacks belong to the kernel or to user
	// space: one of [FrameKinds]. Empty: the marks in the file decide; in a file without
	// marks all frames are taken to be the kernel's.
	Frames string
}

// Capture is an open capture, a [record.Source]. One goroutine calls Next; Pages,
// Lookup and Symbol may be called from others.
type Capture struct {
	base
	imp    importer
	in     *stream
	pipe   bool // what in reads ends when its writer does
	dat    *traceDat
	failed error

	// The last answer of borders, and for which type it was.
	lastType             *event.Type
	lastEnters, lastCall bool
}

// importer reads one format of captures.
type importer interface {
	next(r *record.Record) error
	caveats() []string
	close() error
}

// Open opens a file or a folder. If the content is text, the file may also be a stream,
// such as a pipe or a shell's <(…).
func Open(name string, opt Options) (*Capture, error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l, err := locate(name, opt)
	if err != nil {
		return nil, err
	}
	return open(l, opt)
}

// OpenFS opens a file or a folder of fsys.
func OpenFS(fsys fs.FS, name string, opt Options) (*Capture, error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l := location{fsys: &files{fsys, opt.Memory}, name: path.Clean(name), shown: cmp.Or(opt.Shown, name)}
	l.cache = opt.Cache
	if opt.Kernel != "" {
		l.kernelFS, l.kernelDir, l.kernelShown = l.fsys, path.Clean(opt.Kernel), opt.Kernel
	}
	if err := l.setStackMap(fsys, opt); err != nil {
		return nil, err
	}
	return open(l, opt)
}

// OpenReader reads a capture that is a single text, such as standard input; shown is
// its name in errors.
func OpenReader(r io.Reader, shown string, opt Options) (*Capture, error) {
	opt.Memory = budget.OrDefault(opt.Memory)
	l := location{shown: shown, pipe: isPipe(r)}
	if opt.Kernel != "" {
		l.kernelFS, l.kernelDir, l.kernelShown = opt.files(opt.Kernel), ".", opt.Kernel
	}
	if err := l.setStackMap(nil, opt); err != nil {
		return nil, err
	}
	in, err := newStream(r, shown, false, opt.Memory)
	if err != nil {
		return nil, err
	}
	return openText(in, l, opt)
}

// location is where a capture lies.
type location struct {
	fsys        *files // nil: the capture is a reader, and lies nowhere
	name, shown string
	kernelFS    *files // holds the folder Options.Kernel; nil: none was named
	kernelDir   string
	kernelShown string
	cache       *Cache // for the kernel's files there; nil: none
	once        bool   // the capture is a stream, which can be opened only once
	pipe        bool   // … that ends when its writer does

	stackMap     place // the folder that holds Options.StackMap
	stackMapName string
}

// locate gives the location of a path on the host.
func locate(name string, opt Options) (location, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return location{}, fileError(name, "cannot open", err)
	}
	root, inRoot := splitRoot(abs)
	l := location{fsys: opt.files(root), name: inRoot, shown: name}
	if opt.Kernel != "" {
		l.kernelFS, l.kernelDir, l.kernelShown, l.cache = opt.files(opt.Kernel), ".", opt.Kernel, opt.Cache
	}
	return l, l.setStackMap(nil, opt)
}

// splitRoot divides an absolute path into the root of its volume and the rest, which
// has the form that an fs.FS expects.
func splitRoot(abs string) (root, name string) {
	volume := filepath.VolumeName(abs)
	root = volume + string(filepath.Separator)
	name = strings.TrimPrefix(filepath.ToSlash(abs[len(volume):]), "/")
	if name == "" {
		name = "."
	}
	return root, name
}

func open(l location, opt Options) (*Capture, error) {
	info, err := fs.Stat(l.fsys, l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot open", cause(err))
	}
	if info.IsDir() {
		return openFolder(l, opt, FormatFolder)
	}
	if !info.Mode().IsRegular() {
		// A stream named on the command line. What has been read from it is gone, so it cannot be
		// opened again after a first look.
		in, err := openStream(l.fsys.FS, l.name, l.shown, false, opt.Memory)
		if err != nil {
			return nil, err
		}
		l.once, l.pipe = true, info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
		return openText(in, l, opt)
	}
	dat, err := openTraceDat(l)
	if err != nil {
		return nil, err
	}
	if dat != nil {
		return openDatFolder(dat, l, opt)
	}
	in, err := openStream(l.fsys, l.name, l.shown, false, opt.Memory)
	if err != nil {
		return nil, err
	}
	return openText(in, l, opt)
}

func openDatFolder(dat *traceDat, l location, opt Options) (_ *Capture, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, dat.Close())
		}
	}()
	b, err := dat.buffer(opt.Instance, l.shown)
	if err != nil {
		return nil, err
	}
	c, err := openFolder(dat.location(b, l), opt, FormatTraceDat)
	if err != nil {
		return nil, err
	}
	c.dat = dat
	return c, nil
}

// openFolder opens a capture folder, or something with the same layout.
func openFolder(l location, opt Options, format string) (*Capture, error) {
	if opt.Format != "" && opt.Format != format {
		return nil, fileError(l.shown, "is a "+format+", not "+opt.Format, nil)
	}
	c := &Capture{base: newBase(l, opt, format)}
	imp, err := newFolder(&c.base, l, true)
	if err != nil {
		return nil, err
	}
	c.imp = imp
	if c.ids, err = newStackIDs(&c.base, l, l.name); err != nil {
		return nil, errors.Join(err, c.imp.close())
	}
	return c, nil
}

func openText(in *stream, l location, opt Options) (_ *Capture, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	format := opt.Format
	if format == "" {
		if format, err = detect(in, l); err != nil {
			return nil, err
		}
	}
	c := &Capture{base: newBase(l, opt, format), in: in, pipe: l.pipe}
	if opt.Frames != "" && format != FormatFolded {
		return nil, fileError(l.shown, "is "+format+", which tells the kernel's frames from the user's: only of folded stacks can it be said whose the frames are", nil)
	}
	formats := textFormats()
	i := slices.IndexFunc(formats, func(f textFormat) bool { return f.name == format })
	switch {
	case i >= 0:
		c.imp, err = formats[i].open(&c.base, in, l)
	case format == FormatFolder, format == FormatTraceDat:
		err = fileError(l.shown, "is no "+format, nil)
	default:
		err = fileError(l.shown, "unknown format "+format+": the formats are "+strings.Join(Formats(), ", "), nil)
	}
	if err == nil {
		c.ids, err = newStackIDs(&c.base, l, "")
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Next implements [record.Source]. After an error it returns the same error again.
func (c *Capture) Next(r *record.Record) error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.imp.next(r); err != nil {
		c.failed = c.endsEarly(err)
		return c.failed
	}
	if err := c.ids.undo(r); err != nil {
		c.failed = err
		return err
	}
	if r.Kind == record.Event {
		r.NewEntry, r.Call = c.borders(r.Type)
	}
	c.info.count(r)
	return nil
}

// textEnds begins the errors for a text that ends where none of its program ends.
const textEnds = "the text ends inside"

// endsEarly tells a pipe whose writer has died from a file that was cut: both end inside
// a line or a stack.
func (c *Capture) endsEarly(err error) error {
	var at *Error
	if !c.pipe || !errors.As(err, &at) || !strings.HasPrefix(at.What, textEnds) {
		return err
	}
	at.What = strings.Replace(at.What, textEnds, "the program that writes into the pipe ended inside", 1)
	return err
}

// isPipe reports whether r is a pipe, a FIFO or a socket: what comes from it ends when its
// writer does.
func isPipe(r io.Reader) bool {
	f, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
}

// borders reports whether an event of type t always marks the entry into the kernel
// (the entry of a system call, or a page fault in user space), and whether it is the
// entry or exit of a system call.
func (c *Capture) borders(t *event.Type) (enters, call bool) {
	if t == c.lastType {
		return c.lastEnters, c.lastCall
	}
	c.lastType, c.lastEnters, c.lastCall = t, false, false
	if t == nil {
		return false, false
	}
	switch t.System {
	case "raw_syscalls", "syscalls":
		c.lastEnters = strings.HasPrefix(t.Name, "sys_enter")
		c.lastCall = c.lastEnters || strings.HasPrefix(t.Name, "sys_exit")
	case "exceptions":
		c.lastEnters = t.Name == "page_fault_user"
	}
	return c.lastEnters, c.lastCall
}

// Close ends the goroutines of the capture and closes its files.
func (c *Capture) Close() error {
	if c.failed == nil {
		c.failed = fs.ErrClosed
	}
	err := c.imp.close()
	if c.in != nil {
		err = errors.Join(err, c.in.Close())
		c.in = nil
	}
	if c.dat != nil {
		err = errors.Join(err, c.dat.Close())
		c.dat = nil
	}
	return err
}

// Info tells what has been read so far.
func (c *Capture) Info() Info { return c.info }

// Caveats say what the capture did not tell and what had to be assumed, and how far off
// that can be; they are complete once Next has returned io.EOF.
func (c *Capture) Caveats() []string {
	out := append(c.imp.caveats(), c.ids.caveats()...)
	return append(out, c.info.caveats()...)
}

// Condition names the assumption on which the records depend and which nothing in the
// capture confirms; empty: there is none. It is complete once Next has returned io.EOF.
func (c *Capture) Condition() string {
	if f, ok := c.imp.(*foldedText); ok {
		return f.condition()
	}
	return ""
}

// NamesCPUs reports whether the capture tells on which CPU things happened; where it does
// not, every record says CPU 0. The answer is final once Next has returned io.EOF.
func (c *Capture) NamesCPUs() bool {
	switch imp := c.imp.(type) {
	case *foldedText:
		return false
	case *perfText:
		return imp.noCPU < imp.count || imp.count == 0
	}
	return true
}

// Types gives the types of the events. A type that only the text names is added when it
// first occurs.
func (c *Capture) Types() *event.Table { return c.types.table }

// Comm is the name of the task with that pid; empty if the capture does not tell it.
func (c *Capture) Comm(pid int32) string { return c.comms.byPID[pid] }

// Pages gives the original page images of a CPU, one after the other, each of
// Info().SubbufSize bytes; nil if the capture has none. The reader opens the file anew,
// so it may be used together with Next and from another goroutine. A damaged page makes
// the reader fail only if the file ends inside that page.
func (c *Capture) Pages(cpu int) io.Reader {
	if f, ok := c.imp.(*folder); ok {
		return f.pages(cpu)
	}
	return nil
}

// Symbol gives the name of an address for display, with the offset if that is known:
// the text of a frame, or what kallsyms says; if there is neither, the address as a
// number.
func (c *Capture) Symbol(addr uint64) string {
	name, _, offset, _, ok := c.Lookup(addr)
	switch {
	case !ok:
		return hex(addr)
	case offset != 0:
		return name + "+" + hex(offset)
	}
	return name
}

// Lookup implements [event.Symbols]. For a frame that came as text the name is the
// whole text, and the offset is 0.
func (c *Capture) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	if name, ok = c.frames.text(addr); ok {
		return name, "", 0, 0, true
	}
	if c.kallsyms != nil {
		return c.kallsyms.Lookup(addr)
	}
	return "", "", 0, 0, false
}
