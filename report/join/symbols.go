package join

import (
	"fmt"

	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
)

// file names a file as the frames of a stack do.
type file struct {
	inode uint64
	dev   uint32
}

// maxFiles bounds the files whose paths are kept.
const maxFiles = 1 << 16

// noteFile notes what an inode_cache event says: which file an inode is.
//
// Kernel: the event of the series for deferred user stacks in ftrace, which was not merged.
func (t *Table) noteFile(r *record.Record) {
	inode, dev, path := r.Type.Field("inode"), r.Type.Field("dev"), r.Type.Field("path")
	if inode == nil || dev == nil || path == nil || len(t.files) >= maxFiles {
		return
	}
	if t.files == nil {
		t.files = map[file]string{}
	}
	t.files[file{inode.Uint(r.Data), uint32(dev.Uint(r.Data))}] = path.String(r.Data)
}

// AppendFrame appends a frame as the option sym-userobj shows it: the file and the offset in
// it, /usr/bin/bash[+0xaf581]. A file whose path the trace does not tell is named by its
// device and inode. An address without a file is looked up in symbols, which may be nil.
func (t *Table) AppendFrame(dst []byte, f Frame, symbols event.Symbols) []byte {
	if f.InFile() {
		if path := t.files[file{f.Inode, f.Dev}]; path != "" {
			return fmt.Appendf(dst, "%s[+0x%x]", path, f.Addr)
		}
		return fmt.Appendf(dst, "inode %d on %d:%d[+0x%x]", f.Inode, f.Dev>>20, f.Dev&(1<<20-1), f.Addr)
	}
	if symbols != nil {
		if name, module, off, _, ok := symbols.Lookup(f.Addr); ok {
			dst = append(dst, name...)
			if off != 0 {
				dst = fmt.Appendf(dst, "+0x%x", off)
			}
			if module != "" {
				dst = fmt.Appendf(dst, " [%s]", module)
			}
			return dst
		}
	}
	return fmt.Appendf(dst, "0x%x", f.Addr)
}

// Symbols are those of symbols, which may be nil, and names for the frames of t in files.
func (t *Table) Symbols(symbols event.Symbols) event.Symbols { return fileSymbols{symbols, t} }

type fileSymbols struct {
	event.Symbols
	t *Table
}

// Lookup finds frames in files by what [Frame.Word] makes of them.
func (s fileSymbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	if f, ok := s.t.inFiles[addr]; ok {
		return string(s.t.AppendFrame(nil, f, nil)), "", 0, 0, true
	}
	if s.Symbols == nil {
		return "", "", 0, 0, false
	}
	return s.Symbols.Lookup(addr)
}
