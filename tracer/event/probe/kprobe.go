package probe

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
)

// ParseKprobe reads the definition of a probe in the kernel:
//
//	p[:[GRP/][EVENT]] [MOD:]SYM[+OFFS]|ADDR [ARGS]
//	r[MAXACTIVE][:[GRP/][EVENT]] [MOD:]SYM[+0] [ARGS]
//	p[:[GRP/][EVENT]] [MOD:]SYM[+0]%return [ARGS]
//
// Errors: an [*Error].
//
// Kernel: __trace_kprobe_create, kernel/trace/trace_kprobe.c.
func ParseKprobe(text string, env Env) (*Definition, error) {
	argv := words(text)
	if len(argv) < 2 || argv[0][0] != 'p' && argv[0][0] != 'r' {
		return nil, notMine()
	}
	d := &Definition{Kind: Kprobe, Group: "kprobes", Return: argv[0][0] == 'r', argv: argv}
	p := &argParser{faultLog: &faultLog{location: locations[Kprobe], argv: argv}, env: env, d: d}
	if err := p.kprobe(); err != nil {
		return nil, p.err(err)
	}
	return d, nil
}

func (p *argParser) kprobe() error {
	d := p.d
	colon := colonOf(p.argv[0])
	if len(p.argv[0]) > 1 && isDigit(p.argv[0][1]) && !d.Return {
		return p.fail(1, errBadMaxActiveType)
	}
	var err error
	if d.MaxActive, err = p.maxActive(colon); err != nil {
		return err
	}
	if d.Addr, err = tracefile.ParseUlong(p.argv[1], 0); err != nil {
		p.index = 1
		if err := p.kprobeSymbol(p.argv[1]); err != nil {
			return err
		}
		p.where.ret = d.Return
	} else {
		d.pointer = "0x" + p.env.Pointer(d.Addr)
	}
	p.index = 0
	if err := p.nameOf(d, colon); err != nil {
		return err
	}
	if d.Event == "" {
		d.Event = d.kprobeName()
	}
	return p.kernelArgs(d.Symbol)
}

// kprobeSymbol reads a place that is given by a function's name.
func (p *argParser) kprobeSymbol(place string) error {
	d := p.d
	if strings.Contains(place, "/") && strings.Contains(place, ":") {
		return syscall.ECANCELED // the place lies in a file, so this is a uprobe
	}
	if i := strings.IndexByte(place, '%'); i >= 0 {
		if place[i:] != "%return" {
			return p.fail(i, errBadAddressSuffix)
		}
		place, d.Return = place[:i], true
	}
	symbol, offset, err := splitOffset(place)
	if err != nil || offset < 0 || offset > math.MaxUint32 {
		return p.fail(0, errBadProbeAddress)
	}
	module, name, ok := strings.Cut(symbol, ":")
	if !ok {
		module, name = "", symbol
	}
	if !ok || p.env.Module(module) {
		switch p.env.Symbols(module, name) {
		case 0:
			return p.fail(0, errBadProbeAddress)
		case 1:
		default:
			return p.fail(0, errNotUnique)
		}
	}
	d.Symbol, d.Offset = symbol, uint64(offset)
	at := p.env.Place(symbol, uint64(offset))
	p.where.entry = at == AtEntry && !d.Return
	if at == Inside && d.Return {
		return p.fail(0, errBadRetprobe)
	}
	return nil
}

// kprobeName makes up the name of a kprobe's event.
func (d *Definition) kprobeName() string {
	letter := "p"
	if d.Return {
		letter = "r"
	}
	if d.Symbol == "" {
		return sanitize(letter + "_" + d.pointer)
	}
	return sanitize(fmt.Sprintf("%s_%s_%d", letter, d.Symbol, d.Offset))
}

// kernelArgs compiles the arguments of a probe on a function or tracepoint;
// function is the name of its prototype.
func (p *argParser) kernelArgs(function string) error {
	p.function = function
	args, err := p.expandArgs(p.argv[2:])
	if err != nil {
		return err
	}
	if err := limit(args); err != nil {
		return err
	}
	if err := expandDentries(args); err != nil {
		return err
	}
	return p.args(args)
}
