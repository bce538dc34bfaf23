package probe

import (
	"strings"
	"syscall"
)

// The room, in bytes, for expanded arguments.
//
// Kernel: MAX_BTF_ARGS_LEN, MAX_DENTRY_ARGS_LEN, kernel/trace/trace_probe.h.
const (
	maxNames    = 128
	maxDentries = 256
)

// expandArgs replaces $arg* by the parameters of the function, and each $argN by the
// name of that parameter, if the BTF knows them. args are the words of the definition
// from the third on.
//
// Kernel: traceprobe_expand_meta_args, kernel/trace/trace_probe.c.
func (p *argParser) expandArgs(args []string) ([]string, error) {
	star, found, err := p.findArgs(args)
	if err != nil || !found {
		return args, err
	}
	if !p.askBTF() || len(p.btf.params) == 0 {
		if star >= 0 {
			return nil, p.failWith(0, errNoBTF, syscall.EOPNOTSUPP)
		}
		return args, nil
	}
	var expanded []string
	room := maxNames
	name := func(n uint64, typ string) error {
		if n >= uint64(len(p.btf.params)) {
			return p.failWith(0, errNoBTFArg, syscall.ENOENT)
		}
		text := p.btf.params[n].Name + typ
		if p.btf.params[n].Name == "" {
			return p.failWith(0, errNoBTFEntry, syscall.ENOENT)
		}
		if len(text) >= room {
			return p.failWith(0, errArgsTooLong, syscall.E2BIG)
		}
		room -= len(text) + 1
		expanded = append(expanded, text)
		return nil
	}
	for i, arg := range args {
		p.index = i + 2
		digits, isArg := strings.CutPrefix(arg, "$arg")
		switch {
		case i == star:
			for n := range p.btf.params {
				if err := name(uint64(n), ""); err != nil {
					return nil, err
				}
			}
		case isArg:
			n, typ := leadingNumber(digits, 10)
			if typ != "" && typ[0] != ':' {
				return nil, p.failWith(0, errBadVar, syscall.ENOENT)
			}
			if n == 0 {
				return nil, p.fail(0, errBadArgNumber)
			}
			if err := name(n-1, typ); err != nil {
				return nil, err
			}
		default:
			expanded = append(expanded, arg)
		}
	}
	return expanded, nil
}

// findArgs looks for words that begin with $arg: which of them is $arg* (-1: none),
// and whether there are any.
//
// Kernel: argv_has_var_arg.
func (p *argParser) findArgs(args []string) (star int, found bool, err error) {
	star = -1
	for i, arg := range args {
		rest, ok := strings.CutPrefix(arg, "$arg")
		if !ok {
			continue
		}
		p.index = i + 2
		switch {
		case !p.where.atEntry() && !p.where.atReturn():
			return 0, false, p.fail(0, errNotEntryArgs)
		case rest != "" && isDigit(rest[0]):
		case rest == "" || rest[0] != '*':
			return 0, false, p.fail(0, errBadVar)
		case star >= 0:
			return 0, false, p.fail(0, errDoubleArgs)
		default:
			star = i
		}
		found = true
	}
	return star, found, nil
}

// Where the kernel keeps a dentry's name and a file's dentry, in bytes.
//
// Kernel: struct dentry, struct qstr, include/linux/dcache.h; struct file,
// include/linux/fs.h, as Debian configures them.
const (
	dentryName = "0x28"
	fileDentry = "0x48"
)

// expandDentries replaces arguments of the types %pd and %pD by the fetches that they
// stand for: the names of a dentry and of a file's dentry. It changes args in place. If
// they are words of the definition, error_log shows the changed words, as in the
// kernel.
//
// Kernel: traceprobe_expand_dentry_args.
func expandDentries(args []string) error {
	room := maxDentries
	for i, arg := range args {
		n := len(arg) - len(":%pd")
		if n < 0 || arg[n:] != ":%pd" && arg[n:] != ":%pD" {
			continue
		}
		name, fetch, ok := strings.Cut(arg[:n], "=")
		if ok {
			name += "="
		} else {
			name, fetch = "", name
		}
		if arg[n:] == ":%pD" {
			fetch = "+" + fileDentry + "(" + fetch + ")"
		}
		text := name + "+0x0(+" + dentryName + "(" + fetch + ")):string"
		if len(text) >= room {
			return syscall.ENOMEM
		}
		room -= len(text) + 1
		args[i] = text
	}
	return nil
}
