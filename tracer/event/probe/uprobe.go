package probe

import (
	"fmt"
	"path"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// ParseUprobe reads the definition of a probe in a user file:
//
//	p|r[:[GRP/][EVENT]] PATH:OFFSET[%return][(REFCTR)] [ARGS]
//
// Errors: an [*Error].
//
// Kernel: __trace_uprobe_create, kernel/trace/trace_uprobe.c.
func ParseUprobe(text string, env Env) (*Definition, error) {
	argv := words(text)
	if len(argv) < 2 || argv[0][0] != 'p' && argv[0][0] != 'r' {
		return nil, notMine()
	}
	if err := limit(argv[2:]); err != nil {
		return nil, &Error{Errno: syscall.E2BIG}
	}
	colon := strings.LastIndexByte(argv[1], ':')
	if !strings.Contains(argv[1], "/") || colon < 0 || colon+1 == len(argv[1]) || !isDigit(argv[1][colon+1]) {
		return nil, notMine()
	}
	d := &Definition{Kind: Uprobe, Group: "uprobes", Return: argv[0][0] == 'r', Path: argv[1][:colon], argv: argv}
	p := &argParser{faultLog: &faultLog{location: locations[Uprobe], argv: argv}, env: env, d: d}
	if err := p.uprobe(argv[1][colon+1:], colon+1); err != nil {
		return nil, p.err(err)
	}
	return d, nil
}

// uprobe reads the rest of a definition. The offset in the file stands at column at of
// the second word.
func (p *argParser) uprobe(offset string, at int) error {
	d := p.d
	p.index = 1
	var err error
	if d.File, err = p.env.File(d.Path); err != nil {
		return p.failWith(0, errFileNotFound, err)
	}
	if !d.File.Regular {
		return p.fail(0, errNoRegularFile)
	}
	if err := p.uprobePlace(offset, at); err != nil {
		return err
	}
	p.index = 0
	if strings.HasPrefix(p.argv[0][1:], ":") {
		if err := p.nameOf(d, 1); err != nil {
			return err
		}
	}
	if d.Event == "" {
		base := path.Base(d.Path)
		if strings.HasSuffix(d.Path, "/") {
			base = ""
		}
		if i := strings.IndexAny(base, ".-_"); i >= 0 {
			base = base[:i]
		}
		d.Event = clipName(fmt.Sprintf("p_%s_0x%x", base, d.Offset))
	}
	p.where = where{user: true, ret: d.Return}
	for i, text := range p.argv[2:] {
		p.index, p.offset = i+2, 0
		if err := p.arg(text, i); err != nil {
			return err
		}
	}
	return nil
}

// uprobePlace reads OFFSET[%return][(REFCTR)].
func (p *argParser) uprobePlace(s string, at int) error {
	d := p.d
	offset, counter, ok := strings.Cut(s, "(")
	if ok {
		digits, rest, closed := strings.Cut(counter, ")")
		switch {
		case !closed:
			return p.fail(at+len(s), errRefCtrOpenBrace)
		case rest != "":
			return p.fail(at+len(s)-len(rest), errBadRefCtrSuffix)
		}
		var err error
		if d.RefCtr, err = tracefile.ParseUlong(digits, 0); err != nil {
			return p.failWith(at+len(offset)+1, errBadRefCtr, err)
		}
	}
	if i := strings.IndexByte(offset, '%'); i >= 0 {
		if offset[i:] != "%return" {
			return p.fail(at+i, errBadAddressSuffix)
		}
		offset, d.Return = offset[:i], true
	}
	var err error
	if d.Offset, err = tracefile.ParseUlong(offset, 0); err != nil {
		return p.failWith(at, errBadUprobeOffset, err)
	}
	return nil
}
