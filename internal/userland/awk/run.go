package awk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ftracelab/internal/userland/posixre"
)

// Config is what a run reads and writes.
type Config struct {
	Args   []string    // files, and var=value to be set between them; none: Stdin
	Assign [][2]string // -v var=value, set before BEGIN
	FS     string      // -F; "" leaves a blank
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer // for files that cannot be read
	// Open opens an input file; nil allows none.
	Open func(name string) (io.ReadCloser, error)
	// Wait, if not nil, is called before input is read that may not be there
	// yet: the place to flush Stdout.
	Wait    func()
	Environ map[string]string
}

// The indexes of the special variables: Parse declares them first, in this order.
const (
	varNF = iota
	varNR
	varFNR
	varFS
	varOFS
	varORS
	varRS
	varFILENAME
	varSUBSEP
	varRSTART
	varRLENGTH
	varCONVFMT
	varOFMT
	varENVIRON
	varARGC
	varARGV
)

func specials() []string {
	return []string{
		"NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "SUBSEP",
		"RSTART", "RLENGTH", "CONVFMT", "OFMT", "ENVIRON", "ARGC", "ARGV",
	}
}

// Limits on what a program can make, so that memory stays bounded.
const (
	maxFields  = 1 << 16
	maxString  = 64 << 20
	maxMatches = 1 << 20 // of one gsub or split
	maxCached  = 500
	maxArrays  = 256 << 20 // bytes of all array elements together
)

// machine is one run of a program.
type machine struct {
	prog    *Program
	cfg     Config
	ctx     context.Context
	vars    []value
	arrays  []array
	record  string
	fields  []value // $1 …, if split
	split   bool
	stale   bool // $0 is to be rebuilt from the fields
	inRange []bool
	cache   map[string]*regexp.Regexp
	out     io.Writer
	status  int
	used    int // bytes of array elements
}

// jump is how a statement ends other than by running on.
type jump int

const (
	jumpNone jump = iota
	jumpBreak
	jumpContinue
	jumpNext
	jumpExit
)

// fault is an error inside the evaluation, carried by panic to Run.
type fault struct{ err error }

func (m *machine) fail(format string, args ...any) {
	panic(fault{fmt.Errorf("awk: "+format, args...)})
}

// Run runs the program. status is that of exit, or 2 if an input file could
// not be read. err is a fault of the program, of Stdout, or ctx's.
func (p *Program) Run(ctx context.Context, cfg Config) (status int, err error) {
	m := &machine{
		prog: p, cfg: cfg, ctx: ctx, out: cfg.Stdout,
		vars: make([]value, len(p.names)), arrays: make([]array, len(p.names)),
		inRange: make([]bool, len(p.rules)), cache: map[string]*regexp.Regexp{},
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			status, err = 2, f.err
		}
	}()
	m.prepare()
	if m.block(p.begin) != jumpExit && (len(p.rules) > 0 || len(p.end) > 0) {
		if m.input() == jumpExit {
			m.block(p.end)
			return m.status, nil
		}
	} else if len(p.rules)+len(p.end) == 0 {
		return m.status, nil
	}
	m.block(p.end)
	return m.status, nil
}

func (m *machine) prepare() {
	for i, s := range map[int]string{varFS: " ", varOFS: " ", varORS: "\n", varRS: "\n", varSUBSEP: "\x1c", varCONVFMT: "%.6g", varOFMT: "%.6g"} {
		m.vars[i] = str(s)
	}
	if m.cfg.FS != "" {
		fs := m.cfg.FS
		if fs == "t" {
			fs = "\t" // POSIX: -Ft is a tab
		}
		m.vars[varFS] = str(unescaped(fs))
	}
	m.setElem(varARGV, "0", str("awk"))
	for i, arg := range m.cfg.Args {
		m.setElem(varARGV, fmt.Sprint(i+1), input(arg))
	}
	m.vars[varARGC] = num(float64(len(m.cfg.Args) + 1))
	for _, name := range slices.Sorted(maps.Keys(m.cfg.Environ)) {
		m.setElem(varENVIRON, name, input(m.cfg.Environ[name]))
	}
	for _, a := range m.cfg.Assign {
		m.assign(a[0], a[1])
	}
}

// assign sets a variable from the command line, escapes processed.
func (m *machine) assign(name, v string) {
	for i, known := range m.prog.names {
		if known == name {
			m.setVar(i, input(unescaped(v)))
			return
		}
	}
}

func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i += unescape(&b, s[i+1:])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// input runs the rules over all records of all files.
func (m *machine) input() jump {
	files := 0
	for _, arg := range m.cfg.Args {
		if name, v, ok := strings.Cut(arg, "="); ok && isName(name) {
			m.assign(name, v)
			continue
		}
		files++
		if arg == "-" {
			if m.records(m.cfg.Stdin) == jumpExit {
				return jumpExit
			}
			continue
		}
		if m.cfg.Open == nil {
			m.fail("cannot open %s", arg)
		}
		f, err := m.cfg.Open(arg)
		if err != nil {
			fmt.Fprintf(m.cfg.Stderr, "awk: cannot open %s (%v)\n", arg, err)
			m.status = 2
			continue
		}
		m.vars[varFILENAME] = str(arg)
		m.vars[varFNR] = num(0)
		j := m.records(f)
		f.Close()
		if j == jumpExit {
			return j
		}
	}
	if files == 0 {
		return m.records(m.cfg.Stdin)
	}
	return jumpNone
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

// waiting calls Wait before each read of the underlying input.
type waiting struct {
	r    io.Reader
	wait func()
}

func (w waiting) Read(p []byte) (int, error) {
	w.wait()
	return w.r.Read(p)
}

func (m *machine) records(r io.Reader) jump {
	if r == nil {
		return jumpNone
	}
	if m.cfg.Wait != nil {
		r = waiting{r, m.cfg.Wait}
	}
	in := bufio.NewReader(r)
	for {
		line, ok, err := readRecord(in, m.vars[varRS].string("%.6g"))
		if err != nil {
			panic(fault{err})
		}
		if !ok {
			return jumpNone
		}
		m.setRecord(line)
		m.vars[varNR] = num(m.vars[varNR].number() + 1)
		m.vars[varFNR] = num(m.vars[varFNR].number() + 1)
		if m.rules() == jumpExit {
			return jumpExit
		}
	}
}

// readRecord reads up to the separator: its first byte, or blank lines if it is "".
func readRecord(in *bufio.Reader, rs string) (string, bool, error) {
	if len(rs) > 1 {
		return "", false, errors.New("awk: RS longer than one character is not supported in the lab's awk")
	}
	sep := byte('\n')
	if rs != "" {
		sep = rs[0]
	}
	var record []byte
	got := false
	for {
		part, err := in.ReadSlice(sep)
		record = append(record, part...)
		switch {
		case len(record) > maxString:
			return "", false, errors.New("awk: record is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return "", false, err
		}
		got = got || len(part) > 0
		if rs == "" && err == nil {
			if len(part) > 1 {
				continue // the paragraph goes on
			}
			if len(record) == 1 {
				record = record[:0] // blank lines before it
				got = false
				continue
			}
			return strings.TrimRight(string(record), "\n"), true, nil
		}
		if err == nil {
			return string(record[:len(record)-1]), true, nil
		}
		if rs == "" {
			record = []byte(strings.TrimRight(string(record), "\n"))
		}
		return string(record), got, nil
	}
}

// rules runs the program's rules over the present record.
func (m *machine) rules() jump {
	m.check()
	for i := range m.prog.rules {
		r := &m.prog.rules[i]
		switch {
		case r.until != nil:
			if !m.inRange[i] && !r.pattern.eval(m).truth() {
				continue
			}
			m.inRange[i] = !r.until.eval(m).truth()
		case r.pattern != nil && !r.pattern.eval(m).truth():
			continue
		}
		if r.prints {
			m.write(m.getRecord() + m.vars[varORS].string("%.6g"))
			continue
		}
		switch m.block(r.action) {
		case jumpNext:
			return jumpNone
		case jumpExit:
			return jumpExit
		}
	}
	return jumpNone
}

// charge counts bytes that arrays take or give back.
func (m *machine) charge(n int) {
	if m.used += n; m.used > maxArrays {
		m.fail("arrays hold more than %d bytes", maxArrays)
	}
}

func (m *machine) check() {
	if err := m.ctx.Err(); err != nil {
		panic(fault{err})
	}
}

func (m *machine) write(s string) {
	if _, err := io.WriteString(m.out, s); err != nil {
		panic(fault{err})
	}
}

func (m *machine) block(list []stmt) jump {
	for _, s := range list {
		if j := s.exec(m); j != jumpNone {
			return j
		}
	}
	return jumpNone
}

func (m *machine) convfmt() string { return m.vars[varCONVFMT].s }

// regexp compiles a dynamic pattern, or finds it compiled.
func (m *machine) regexp(e expr) *regexp.Regexp {
	if c, ok := e.(*regexpExpr); ok {
		return c.re
	}
	return m.compile(e.eval(m).string(m.convfmt()))
}

func (m *machine) compile(pattern string) *regexp.Regexp {
	if re, ok := m.cache[pattern]; ok {
		return re
	}
	re, err := posixre.Compile(pattern, posixre.Awk, false)
	if err != nil {
		m.fail("%w", err)
	}
	if len(m.cache) >= maxCached {
		clear(m.cache)
	}
	m.cache[pattern] = re
	return re
}
