package probe

import (
	"strings"
)

// ParseFprobe reads the definition of a probe on a function's entry or exit, or on a
// tracepoint:
//
//	f[:[GRP/][EVENT]] [MOD:]SYM [ARGS]
//	f[MAXACTIVE][:[GRP/][EVENT]] [MOD:]SYM%return [ARGS]
//	t[:[GRP/][EVENT]] TRACEPOINT [ARGS]
//
// MAXACTIVE is refused where Env.MaxActive says so.
//
// An argument that fetches $retval makes an exit probe of the first form.
//
// Errors: an [*Error].
//
// Kernel: __trace_fprobe_create, kernel/trace/trace_fprobe.c.
func ParseFprobe(text string, env Env) (*Definition, error) {
	argv := words(text)
	if len(argv) < 2 || argv[0][0] != 'f' && argv[0][0] != 't' {
		return nil, notMine()
	}
	d := &Definition{Kind: Fprobe, Group: "fprobes", argv: argv}
	if argv[0][0] == 't' {
		d.Kind, d.Group = Tracepoint, "tracepoints"
	}
	p := &argParser{faultLog: &faultLog{location: locations[d.Kind], argv: argv}, env: env, d: d}
	if err := p.fprobe(); err != nil {
		return nil, p.err(err)
	}
	return d, nil
}

func (p *argParser) fprobe() error {
	d := p.d
	colon := colonOf(p.argv[0])
	if word := p.argv[0]; len(word) > 1 && word[1] != ':' && !p.env.MaxActive() {
		return p.fail(1, errBadMaxActive)
	}
	var err error
	if d.MaxActive, err = p.maxActive(colon); err != nil {
		return err
	}
	p.index = 1
	if err := p.fprobeSymbol(p.argv[1]); err != nil {
		return err
	}
	p.index = 0
	if !d.Return && d.MaxActive != 0 {
		return p.fail(1, errBadMaxActiveType)
	}
	if err := p.nameOf(d, colon); err != nil {
		return err
	}
	if d.Event == "" {
		d.Event = d.fprobeName()
	}
	p.where = where{fprobe: true, ret: d.Return, entry: !d.Return, tpoint: d.Kind == Tracepoint}
	function := d.Symbol
	if stub, ok := p.env.Tracepoint(d.Symbol); ok && d.Kind == Tracepoint {
		function = stub
	}
	return p.kernelArgs(function)
}

// fprobeSymbol reads the place.
//
// Kernel: parse_symbol_and_return.
func (p *argParser) fprobeSymbol(place string) error {
	d := p.d
	d.Symbol = place
	if i := strings.IndexByte(place, '%'); i >= 0 {
		if d.Kind == Tracepoint || place[i:] != "%return" {
			return p.fail(i, errBadAddressSuffix)
		}
		d.Symbol, d.Return = place[:i], true
		return nil
	}
	if d.Kind == Tracepoint {
		for i := range len(place) {
			if c := place[i]; !isAlpha(c) && !isDigit(c) && c != '_' {
				return p.fail(i, errBadTracepointName)
			}
		}
	}
	for i, arg := range p.argv[2:] {
		at := strings.Index(arg, "$retval")
		if at < 0 {
			continue
		}
		if rest := arg[at+len("$retval"):]; rest != "" && (isAlpha(rest[0]) || isDigit(rest[0]) || rest[0] == '_') {
			continue
		}
		if d.Kind == Tracepoint {
			p.index = i + 2
			return p.fail(at, errRetvalOnProbe)
		}
		d.Return = true
		break
	}
	return nil
}

// fprobeName makes up the name of an event.
func (d *Definition) fprobeName() string {
	switch {
	case d.Kind == Tracepoint && d.Symbol != "" && isDigit(d.Symbol[0]):
		return sanitize("_" + d.Symbol)
	case d.Kind == Tracepoint:
		return sanitize(d.Symbol)
	case d.Return:
		return sanitize(d.Symbol + "__exit")
	}
	return sanitize(d.Symbol + "__entry")
}
