package synth

import (
	"fmt"
	"strings"
	"syscall"

	"ftracelab/tracer/event/filter"
)

// The faults of a definition, as error_log names them.
//
// Kernel: ERRORS, kernel/trace/trace_events_synth.c.
const (
	msgBadName          = "Illegal name"
	msgInvalidCmd       = "Command must be of the form: <name> field[;field] ..."
	msgInvalidDynCmd    = "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
	msgEventExists      = "Event already exists"
	msgTooManyFields    = "Too many fields"
	msgIncompleteType   = "Incomplete type"
	msgInvalidType      = "Invalid type"
	msgInvalidField     = "Invalid field"
	msgInvalidArraySpec = "Invalid array specification"
)

// Location is the location that error_log shows for these faults.
const Location = "synthetic_events"

// Error says why a command is refused: which errno the writer gets, and what
// error_log shows. Msg is "" if it shows nothing.
//
// ECANCELED says that a line of dynamic_events is not about a synthetic event.
//
// Kernel: synth_err, kernel/trace/trace_events_synth.c.
type Error struct {
	Msg     string        // a text of the kernel's table
	Pos     int           // the caret's column in Command, in bytes from 0
	Command string        // the line, blanks at its start cut off
	Errno   syscall.Errno // for the writer
}

func (e *Error) Error() string {
	if e.Msg == "" {
		return fmt.Sprintf("%s: %q: %v", Location, e.Command, e.Errno)
	}
	return fmt.Sprintf("%s: %q: column %d: %s: %v", Location, e.Command, e.Pos, e.Msg, e.Errno)
}

// Unwrap gives the errno.
func (e *Error) Unwrap() error { return e.Errno }

// Parse reads a line of synthetic_events. remove says that the line began with
// ! and removes the event that d names; d then has no fields. For an empty line
// d is nil and remove is false. exists reports whether there is a synthetic
// event of that name.
//
// Errors are an *Error of EINVAL, or EEXIST.
//
// Kernel: create_or_delete_synth_event.
func Parse(line string, exists func(name string) bool) (d *Definition, remove bool, err error) {
	line = filter.SkipSpace(line)
	if line == "" {
		return nil, false, nil
	}
	p := parser{command: line, exists: exists}
	name, fields, found := cutBlank(line)
	if !p.complete(line) || !found && line[0] != '!' {
		return nil, false, p.fault(msgInvalidCmd, 0)
	}
	if name, remove = strings.CutPrefix(name, "!"); remove {
		return &Definition{Name: name}, true, nil
	}
	d, err = p.define(name, fields)
	return d, false, err
}

// ParseDynamic reads a line of dynamic_events that defines an event. An empty
// line gives nil. Errors are those of Parse, and ECANCELED for a line that is
// not about a synthetic event.
//
// Kernel: create_synth_event.
func ParseDynamic(line string, exists func(name string) bool) (*Definition, error) {
	line = filter.SkipSpace(line)
	if line == "" {
		return nil, nil
	}
	p := parser{command: line, exists: exists}
	rest, mine := strings.CutPrefix(line, "s:")
	if !mine {
		return nil, &Error{Command: line, Errno: syscall.ECANCELED}
	}
	if _, _, found := cutBlank(line); !found {
		return nil, p.fault(msgInvalidCmd, 0)
	}
	if strings.Contains(rest, "/") {
		if rest, mine = strings.CutPrefix(rest, System+"/"); !mine {
			return nil, p.fault(msgInvalidDynCmd, 0)
		}
	}
	if !p.complete(rest) {
		return nil, p.fault(msgInvalidCmd, 0)
	}
	name, fields, _ := cutBlank(rest)
	return p.define(name, fields)
}

// parser is one command while it is read.
type parser struct {
	command string
	exists  func(name string) bool
}

func (p *parser) fault(msg string, pos int) error {
	return &Error{Msg: msg, Pos: pos, Command: p.command, Errno: syscall.EINVAL}
}

// faultAt is a fault whose column is the first place in the command where word
// stands.
//
// Kernel: errpos, and err_pos, kernel/trace/trace.c.
func (p *parser) faultAt(msg, word string) error {
	return p.fault(msg, max(0, strings.Index(p.command, word)))
}

// complete reports whether a command has a name, a type and a field before its first
// semicolon, or begins with !.
//
// Kernel: check_command.
func (p *parser) complete(command string) bool {
	first, _, _ := strings.Cut(command, ";")
	return strings.HasPrefix(first, "!") || len(split(first)) >= 3
}

// define reads the fields. In the old syntax there were no semicolons between
// fields, so they are not required.
//
// Kernel: __create_synth_event.
func (p *parser) define(name, fields string) (*Definition, error) {
	switch {
	case name == "":
		return nil, p.fault(msgInvalidCmd, 0)
	case !goodName(name):
		return nil, p.faultAt(msgBadName, name)
	case p.exists(name):
		err := p.faultAt(msgEventExists, name).(*Error)
		err.Errno = syscall.EEXIST
		return nil, err
	}
	var list []Field
	for part := range strings.SplitSeq(fields, ";") {
		for args := split(part); len(args) > 0; {
			f, rest, err := p.field(args)
			if err != nil {
				return nil, err
			}
			if len(list) == maxFields {
				return nil, p.fault(msgTooManyFields, 0)
			}
			list, args = append(list, f), rest
		}
	}
	if len(list) == 0 {
		return nil, p.fault(msgInvalidCmd, 0)
	}
	return define(name, list), nil
}

// field reads one field and returns the words after it. Brackets may follow its
// type or its name.
//
// Kernel: parse_synth_field.
func (p *parser) field(args []string) (f Field, rest []string, err error) {
	prefix, typ := "", args[0]
	if typ == "unsigned" {
		if len(args) < 3 {
			return f, nil, p.faultAt(msgIncompleteType, typ)
		}
		prefix, args = "unsigned ", args[1:]
		typ = args[0]
	}
	if len(args) < 2 {
		return f, nil, p.faultAt(msgInvalidField, typ)
	}
	name, brackets := args[1], ""
	if n := strings.IndexByte(name, '['); n >= 0 {
		name, brackets = name[:n], name[n:]
	}
	if !goodName(name) {
		return f, nil, p.faultAt(msgBadName, args[1])
	}
	f = Field{Name: name, Type: prefix + typ + brackets}
	f.Size = sizeOf(f.Type)
	switch {
	case f.Size < 0 && brackets != "":
		return f, nil, p.faultAt(msgInvalidArraySpec, args[1])
	case f.Size < 0, f.Size == 0 && !isText(f.Type) && !isStack(f.Type):
		return f, nil, p.faultAt(msgInvalidType, typ)
	case f.Size == 0 && isText(f.Type):
		f.Kind, f.Size = DynamicText, slotSize
	case f.Size == 0:
		f.Kind, f.Size = Stack, slotSize
	case isText(f.Type):
		f.Kind = Text
	}
	f.Signed = !strings.HasPrefix(f.DeclType(), "u") && f.Type != "gfp_t"
	return f, args[2:], nil
}

// cutBlank cuts a command after its first word, at a blank or tab, and skips the
// space that follows.
func cutBlank(s string) (word, rest string, found bool) {
	n := strings.IndexAny(s, " \t")
	if n < 0 {
		return s, "", false
	}
	return s[:n], filter.SkipSpace(s[n:]), true
}

// split splits a text at its spaces.
//
// Kernel: argv_split, lib/argv_split.c.
func split(s string) []string {
	var list []string
	for s = filter.SkipSpace(s); s != ""; s = filter.SkipSpace(s) {
		n := 0
		for n < len(s) && len(filter.SkipSpace(s[n:])) == len(s)-n {
			n++
		}
		list, s = append(list, s[:n]), s[n:]
	}
	return list
}

// goodName reports whether an event or a field may have a name. It consists of
// letters, digits and underscores, and does not begin with a digit. Letters are
// those of Latin-1.
//
// Kernel: is_good_name, kernel/trace/trace.h; _ctype, lib/ctype.c.
func goodName(name string) bool {
	for n := range len(name) {
		c := name[n]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0xc0 && c != 0xd7 && c != 0xf7
		if !letter && (n == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
