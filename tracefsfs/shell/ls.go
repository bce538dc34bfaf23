package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"ftracelab/internal/userland/tool"

	"mvdan.cc/sh/v3/pattern"
)

// lister is one run of ls.
type lister struct {
	c                               *call
	long, all, self, recurse, slash bool
	titles                          bool
	blank                           bool // a blank line is due before the next title
}

// ls lists names, one a line: there is no terminal to fill with columns.
func ls(c *call) int {
	opts, names, ok := c.Options("laAdR1FhntrS")
	if !ok {
		return 2
	}
	l := lister{c: c}
	for _, o := range opts {
		switch o.Flag {
		case 'l', 'n':
			l.long = true
		case 'a', 'A':
			l.all = true
		case 'd':
			l.self = true
		case 'R':
			l.recurse = true
		case 'F':
			l.slash = true
		}
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	l.titles = len(names) > 1 || l.recurse
	status := 0
	var folders []string
	for _, name := range names {
		info, err := c.sh.ns.stat(c.path(name))
		switch {
		case err != nil:
			fmt.Fprintf(c.Stderr, "ls: cannot access '%s': %s\n", name, tool.Reason(err))
			status = 2
		case info.IsDir() && !l.self:
			folders = append(folders, name)
		default:
			l.entry(name, info)
			l.blank = true
		}
	}
	for _, name := range folders {
		if err := l.folder(name); err != nil {
			c.Fail(name, err)
			status = 2
		}
	}
	return status
}

func (l *lister) entry(name string, info fs.FileInfo) {
	if l.slash && info.IsDir() {
		name += "/"
	}
	if !l.long {
		l.c.Printf("%s\n", name)
		return
	}
	links := 1
	if info.IsDir() {
		links = 2
	}
	l.c.Printf("%s %d root root %d %s %s\n", modeString(info.Mode()), links, info.Size(), "Jan  1  1970", name)
}

// modeString is a mode as ls shows it.
func modeString(mode fs.FileMode) string {
	s := mode.Perm().String()[1:]
	kind := "-"
	switch {
	case mode.IsDir():
		kind = "d"
	case mode&fs.ModeSymlink != 0:
		kind = "l"
	case mode&fs.ModeCharDevice != 0:
		kind = "c"
	}
	if mode&fs.ModeSticky != 0 {
		s = s[:8] + "t"
	}
	return kind + s
}

func (l *lister) folder(name string) error {
	list, err := l.c.sh.ns.readDir(l.c.path(name))
	if err != nil {
		return err
	}
	if l.titles {
		if l.blank {
			l.c.Printf("\n")
		}
		l.c.Printf("%s:\n", name)
		l.blank = true
	}
	if l.long {
		l.c.Printf("total 0\n")
	}
	for _, entry := range list {
		if !l.all && strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue
		}
		l.entry(entry.Name(), info)
	}
	if !l.recurse {
		return nil
	}
	for _, entry := range list {
		if entry.IsDir() && !l.c.Stopped() {
			if err := l.folder(name + "/" + entry.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// tracelist prints the tree as the kernel's was captured, to be compared.
func tracelist(c *call) int {
	name := "."
	if len(c.Args) > 0 {
		name = c.Args[0]
	}
	dir := c.path(name)
	if !isVirtual(dir) {
		c.Fail(name, syscall.EINVAL)
		return 1
	}
	f := finder{c: c, maxDepth: -1, format: `%y %m %p\n`}
	return f.walk(name, 0)
}

// finder is one run of find.
type finder struct {
	c                  *call
	tests              []func(name string, info fs.FileInfo) bool
	minDepth, maxDepth int    // maxDepth < 0: no limit
	format             string // "": the path and a newline
	quit               bool
	done               bool
}

func find(c *call) int {
	f := finder{c: c, maxDepth: -1}
	args := c.Args
	var paths []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "!" && args[0] != "(" {
		paths, args = append(paths, args[0]), args[1:]
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	if err := f.parse(args); err != nil {
		return c.Usage("%v", err)
	}
	status := 0
	for _, p := range paths {
		status |= f.walk(p, 0)
	}
	return status
}

// parse parses tests and actions, which must all hold.
func (f *finder) parse(args []string) error {
	negated := false
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch word {
		case "!", "-not":
			negated = !negated
			continue
		case "-print", "-a":
			continue
		case "-quit":
			f.quit = true
			continue
		}
		if i+1 == len(args) {
			return fmt.Errorf("%s is not in the lab, or wants an argument", word)
		}
		i++
		if err := f.primary(word, args[i], negated); err != nil {
			return err
		}
		negated = false
	}
	return nil
}

func (f *finder) primary(word, arg string, negated bool) error {
	var test func(string, fs.FileInfo) bool
	switch word {
	case "-maxdepth":
		f.maxDepth = tool.ToInt(arg)
		return nil
	case "-mindepth":
		f.minDepth = tool.ToInt(arg)
		return nil
	case "-printf":
		f.format = arg
		return nil
	case "-name", "-path", "-iname":
		re, err := globRegexp(arg, word == "-iname")
		if err != nil {
			return err
		}
		test = func(name string, _ fs.FileInfo) bool {
			if word != "-path" {
				name = path.Base(name)
			}
			return re.MatchString(name)
		}
	case "-type":
		test = func(_ string, info fs.FileInfo) bool {
			return arg == "d" && info.IsDir() || arg == "f" && info.Mode().IsRegular()
		}
	case "-perm":
		want, err := strconv.ParseUint(arg, 8, 12)
		if err != nil {
			return fmt.Errorf("-perm %s is not in the lab", arg)
		}
		test = func(_ string, info fs.FileInfo) bool { return info.Mode().Perm() == fs.FileMode(want) }
	default:
		return fmt.Errorf("%s is not in the lab", word)
	}
	f.tests = append(f.tests, func(name string, info fs.FileInfo) bool { return test(name, info) != negated })
	return nil
}

// globRegexp is a shell pattern over a whole name, where * matches a slash too.
func globRegexp(glob string, fold bool) (*regexp.Regexp, error) {
	text, err := pattern.Regexp(glob, pattern.EntireString)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", glob, err)
	}
	if fold {
		text = "(?i)" + text
	}
	return regexp.Compile(text)
}

// walk visits name and what is below it, sorted by name.
func (f *finder) walk(name string, depth int) int {
	if f.done || f.c.Stopped() {
		return 0
	}
	info, err := f.c.sh.ns.stat(f.c.path(name))
	if err != nil {
		fmt.Fprintf(f.c.Stderr, "find: '%s': %s\n", name, tool.Reason(err))
		return 1
	}
	if depth >= f.minDepth && f.matches(name, info) {
		f.print(name, depth, info)
		if f.done = f.quit; f.done {
			return 0
		}
	}
	if !info.IsDir() || f.maxDepth >= 0 && depth >= f.maxDepth {
		return 0
	}
	list, err := f.c.sh.ns.readDir(f.c.path(name))
	if err != nil {
		fmt.Fprintf(f.c.Stderr, "find: '%s': %s\n", name, tool.Reason(err))
		return 1
	}
	status := 0
	for _, entry := range list {
		status |= f.walk(strings.TrimSuffix(name, "/")+"/"+entry.Name(), depth+1)
	}
	return status
}

func (f *finder) matches(name string, info fs.FileInfo) bool {
	for _, test := range f.tests {
		if !test(name, info) {
			return false
		}
	}
	return true
}

func (f *finder) print(name string, depth int, info fs.FileInfo) {
	if f.format == "" {
		f.c.Printf("%s\n", name)
		return
	}
	kind := "f"
	if info.IsDir() {
		kind = "d"
	}
	text := strings.NewReplacer("%%", "%", "%p", name, "%f", path.Base(name), "%h", path.Dir(name), "%y", kind,
		"%m", fmt.Sprintf("%o", info.Mode().Perm()), "%s", fmt.Sprint(info.Size()), "%d", fmt.Sprint(depth),
		`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(f.format)
	f.c.Printf("%s", text)
}

// stat prints a file's data by a format.
func stat(c *call) int {
	opts, names, ok := c.Options("c:L")
	if !ok {
		return 1
	}
	format := "  File: %n\n  Size: %s\t%F\nAccess: (%a/%A)"
	for _, o := range opts {
		if o.Flag == 'c' {
			format = o.Arg
		}
	}
	return c.eachName(names, "cannot stat", func(name string) error {
		info, err := c.sh.ns.stat(c.path(name))
		if err != nil {
			return err
		}
		text, err := statText(format, name, c.mountOf(c.path(name)), info)
		if err != nil {
			return err
		}
		c.Printf("%s\n", text)
		return nil
	})
}

func (c *call) mountOf(target string) string {
	for _, mount := range []string{tracing, debugTracing, "/tmp", "/proc", "/sys", "/dev"} {
		if below(target, mount) {
			return mount
		}
	}
	return "/"
}

func statText(format, name, mount string, info fs.FileInfo) (string, error) {
	kind := "regular file"
	switch {
	case info.IsDir():
		kind = "directory"
	case info.Size() == 0:
		kind = "regular empty file"
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case 'a':
			fmt.Fprintf(&b, "%o", info.Mode().Perm())
		case 'A':
			b.WriteString(modeString(info.Mode()))
		case 'F':
			b.WriteString(kind)
		case 'g', 'u':
			b.WriteString("0")
		case 'G', 'U':
			b.WriteString("root")
		case 'm':
			b.WriteString(mount)
		case 'n':
			b.WriteString(name)
		case 's':
			fmt.Fprint(&b, info.Size())
		case '%':
			b.WriteByte('%')
		default:
			return "", errors.New("%" + format[i:i+1] + " is not in the lab")
		}
	}
	return b.String(), nil
}
