package probe

import (
	"strings"
	"syscall"
)

// ParseEprobe reads the definition of a probe on another event:
//
//	e[:[GRP/][EVENT]] SYSTEM.EVENT [NAME=$FIELD[:TYPE]]… [if FILTER]
//
// Errors: an [*Error].
//
// Kernel: __trace_eprobe_create, kernel/trace/trace_eprobe.c.
func ParseEprobe(text string, env Env) (*Definition, error) {
	argv := words(text)
	if len(argv) < 2 || argv[0][0] != 'e' {
		return nil, notMine()
	}
	d := &Definition{Kind: Eprobe, Group: "eprobes", argv: argv}
	p := &argParser{faultLog: &faultLog{location: locations[Eprobe], argv: argv}, env: env, d: d}
	if err := p.eprobe(); err != nil {
		return nil, p.err(err)
	}
	return d, nil
}

func (p *argParser) eprobe() error {
	d := p.d
	if err := p.nameOf(d, colonOf(p.argv[0])); err != nil {
		return err
	}
	p.index = 1
	system, name, err := p.eventName(p.argv[1], 0)
	if err != nil || system == "" || name == "" {
		return p.fail(0, errNoEventInfo)
	}
	if d.Event == "" {
		d.Event = name
	}
	args := p.argv[2:]
	var rule []string
	filterAt := 0
	for i, word := range args {
		if word == "if" {
			args, rule, filterAt = args[:i], args[i+1:], i+3
			break
		}
	}
	if err := limit(args); err != nil {
		return err
	}
	if d.Attached = p.env.Event(system, name); d.Attached == nil {
		return p.failWith(0, errBadAttachEvent, syscall.ENODEV)
	}
	if filterAt > 0 {
		p.index = filterAt
		if len(rule) == 0 {
			return p.fail(0, errNoEventProbeFilter)
		}
		d.Filter = strings.Join(rule, " ")
		if err := p.env.Filter(d.Attached, d.Filter); err != nil {
			return syscall.EINVAL
		}
	}
	p.where = where{event: true}
	for i, text := range args {
		p.index, p.offset = i+2, 0
		if err := p.arg(text, i); err != nil {
			return err
		}
		if err := d.Args[i].resolve(p.env); err != nil {
			return err
		}
	}
	return nil
}
