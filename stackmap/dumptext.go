package stackmap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"ftracelab/budget"
	"ftracelab/internal/plain"
)

// DumpOptions choose what WriteDump writes.
type DumpOptions struct {
	JSON bool // a list of objects instead of text
	Top  int  // only so many stacks, those with the highest ref_count; 0 is all
	// Symbols returns the name of an address, "" if it has none; nil names no
	// address and leaves the symbols out of JSON.
	Symbols func(addr uint64) string
	// KeepGoing writes what was read before the file went wrong.
	KeepGoing bool
	// Memory bounds how much of the file is held; nil is a budget of the
	// default size.
	Memory *budget.Budget
}

// WriteDump reads a stack_map_bin from r and writes its stacks to w as
// stackmap_dump.py does: per stack the line stack_id N [ref R, depth D], a line
// per address, an empty line. It returns how many stacks it wrote, which that
// tool reports on standard error as "Total: N unique stacks".
//
// Errors are those of ReadDump, after which only KeepGoing writes anything, and
// those of w.
//
// Kernel: main, tools/tracing/stackmap_dump.py.
//
// Departure: the tool's symbols come from addr2line, which with debug
// information names the innermost inlined function, and without it may name an
// outer symbol where two overlap, depending on earlier queries. Ours come from
// the symbol table alone.
func WriteDump(w io.Writer, r io.Reader, opts DumpOptions) (stacks int, err error) {
	d, readErr := ReadDump(r, opts.Memory)
	if readErr != nil && (d == nil || !opts.KeepGoing) {
		return 0, readErr
	}
	top := d.Top(opts.Top)
	if opts.JSON {
		err = writeDumpJSON(w, top, opts.Symbols)
	} else {
		err = writeDumpText(w, top, opts.Symbols)
	}
	if err != nil {
		return 0, err
	}
	return len(top), readErr
}

func writeDumpText(w io.Writer, records []Record, symbols func(uint64) string) error {
	var buf []byte
	for _, r := range records {
		buf = appendHead(buf[:0], r.ID, r.Ref, len(r.IPs))
		for i, ip := range r.IPs {
			buf = appendHex(appendIndex(buf, i), ip)
			if symbols != nil {
				if name := symbols(ip); name != "" {
					buf = append(append(buf, ' '), name...)
				}
			}
			buf = append(buf, '\n')
		}
		if _, err := w.Write(append(buf, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// DumpedStack is a stack in JSON, as WriteDump writes a list of them.
type DumpedStack struct {
	ID      uint32   `json:"stack_id"`
	Ref     uint32   `json:"ref_count"`
	IPs     []string `json:"ips"`              // hexadecimal with 0x
	Symbols []string `json:"symbols,omitzero"` // as many; the address where there is no name
}

func writeDumpJSON(w io.Writer, records []Record, symbols func(uint64) string) error {
	list := make([]DumpedStack, len(records))
	for i, r := range records {
		e := DumpedStack{ID: r.ID, Ref: r.Ref, IPs: make([]string, len(r.IPs))}
		for j, ip := range r.IPs {
			e.IPs[j] = fmt.Sprintf("%#x", ip)
		}
		if symbols != nil {
			e.Symbols = make([]string, len(r.IPs))
			for j, ip := range r.IPs {
				if e.Symbols[j] = symbols(ip); e.Symbols[j] == "" {
					e.Symbols[j] = e.IPs[j]
				}
			}
		}
		list[i] = e
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(list); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}
