package probe

import (
	"strconv"
	"strings"
	"syscall"
)

// Limits of an argument.
//
// Kernel: kernel/trace/trace_probe.h.
const (
	maxArgName   = 32
	maxArgText   = 63
	maxArray     = 64
	maxEventSize = 3072 // bytes of the arguments' fixed part
)

// reservedNames are the names of fields that a probe's event has besides its arguments.
//
// Kernel: reserved_field_names, kernel/trace/trace_probe.c.
var reservedNames = [...]string{
	"common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid",
	fieldIP, fieldRetIP, fieldFunc,
}

// where says in what kind of place an argument is fetched.
//
// Kernel: TPARG_FL_…, kernel/trace/trace_probe.h.
type where struct {
	user   bool // in user space; otherwise in the kernel
	ret    bool // at a function's return
	entry  bool // at its entry
	event  bool // at an event
	fprobe bool // in an fprobe, which has no registers
	tpoint bool // at a tracepoint
}

func (w where) atEntry() bool  { return w.entry && !w.user && !w.ret && !w.event }
func (w where) atReturn() bool { return w.ret && !w.user && !w.entry && !w.event }

// argParser compiles the arguments of one definition.
//
// Kernel: struct traceprobe_parse_context.
type argParser struct {
	*faultLog
	env   Env
	d     *Definition
	where where

	function string // the function whose prototype the BTF is asked for; "": none
	btf      btfState

	offset int // where what is being parsed begins in the present word
}

// args compiles the arguments, which begin with the third word.
func (p *argParser) args(texts []string) error {
	for i, text := range texts {
		p.index = i + 2
		if err := p.arg(text, i); err != nil {
			return err
		}
	}
	return nil
}

// arg compiles argument i: NAME=BODY or BODY.
//
// Kernel: traceprobe_parse_probe_arg.
func (p *argParser) arg(text string, i int) error {
	name, body, named := strings.Cut(text, "=")
	switch {
	case !named:
		name, body = p.argName(text, i), text
	case len(name) > maxArgName:
		return p.fail(0, errArgNameTooLong)
	case name == "":
		return p.fail(0, errNoArgName)
	}
	if !isName(name, 0) {
		return p.fail(0, errBadArgName)
	}
	if p.taken(name) {
		return p.fail(0, errUsedArgName)
	}
	p.offset = len(text) - len(body)
	return p.body(body, name)
}

// taken reports whether a field's name is reserved or belongs to another argument.
func (p *argParser) taken(name string) bool {
	for _, r := range reservedNames {
		if r == name {
			return true
		}
	}
	for i := range p.d.Args {
		if p.d.Args[i].Name == name {
			return true
		}
	}
	return false
}

// argName makes a name for an argument that has none: the variable that it
// fetches, or its number.
//
// Kernel: generate_probe_arg_name.
func (p *argParser) argName(text string, i int) string {
	name, _, _ := strings.Cut(text, ":")
	if p.env.BTF() != nil && isName(name, 0) {
		return name
	}
	return "arg" + strconv.Itoa(i+1)
}

// body compiles what is fetched, FETCHARG:TYPE[N], and adds the argument.
//
// Kernel: traceprobe_parse_probe_arg_body.
func (p *argParser) body(text, name string) error {
	switch {
	case len(text) > maxArgText:
		return p.failWith(p.offset, errArgTooLong, syscall.E2BIG)
	case text == "":
		return p.fail(p.offset, errNoArgBody)
	}
	a := Arg{Name: name, Comm: text}
	t, err := p.typeOf(text, &a)
	if err != nil {
		return err
	}
	prog := newProgram()
	p.btf.forget()
	if err := p.fetch(t.arg, prog); err != nil {
		return err
	}
	if p.btf.typed {
		switch {
		case !t.given:
			a.typ = p.btf.fetchType()
		case strings.Contains(t.name, "string"):
			if err := p.btfString(t.name, prog); err != nil {
				return err
			}
		}
	}
	a.offset = p.d.size
	p.d.size += a.typ.size * max(1, a.Count)
	if p.d.size > maxEventSize {
		return p.failWith(p.offset, errEventTooBig, syscall.E2BIG)
	}
	if err := p.store(prog, &a, t); err != nil {
		return err
	}
	a.code = prog.finish()
	p.d.Args = append(p.d.Args, a)
	return nil
}

// typeText is the text of an argument, taken apart.
type typeText struct {
	arg   string // what is fetched
	name  string // the name of the type
	given bool
	at    int // where that name stands
}

// typeOf splits the type off an argument's text and finds it. It stores the type and
// the length of an array in a.
//
// Kernel: parse_probe_arg_type.
func (p *argParser) typeOf(text string, a *Arg) (typeText, error) {
	t := typeText{arg: text, name: defaultType}
	if arg, name, ok := strings.Cut(text, ":"); ok {
		t = typeText{arg: arg, name: name, given: true, at: len(arg) + 1}
		if scalar, count, ok := strings.Cut(name, "["); ok {
			t.name = scalar
			at := t.at + len(scalar) + 1
			digits, rest, closed := strings.Cut(count, "]")
			switch n, err := parseUint32(digits); {
			case !closed:
				return t, p.fail(p.offset+at+len(count), errArrayNoClose)
			case rest != "":
				return t, p.fail(p.offset+at+len(digits)+1, errBadArraySuffix)
			case err != nil || n == 0:
				return t, p.fail(p.offset+at, errBadArraySize)
			case n > maxArray:
				return t, p.fail(p.offset+at, errArrayTooBig)
			default:
				a.Count = int(n)
			}
		}
	}
	name := t.name
	if !p.where.event && (t.arg == "$comm" || t.arg == "$COMM" || strings.HasPrefix(t.arg, `\"`)) {
		if a.Count != 0 || t.given && name != "string" {
			return t, p.fail(p.offset+t.at, errNeedStringType)
		}
		name = "string"
	}
	if a.typ = findType(name, p.where.user); a.typ == nil {
		return t, p.fail(p.offset+t.at, errBadType)
	}
	return t, nil
}
