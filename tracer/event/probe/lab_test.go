package probe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// kernel is a small kernel to define probes in.
type kernel struct {
	untyped bool // it has no BTF
	stacked bool // its fprobes use the shadow stack
}

// symbols of the kernel and how often each is there.
var symbols = map[string]int{
	"vfs_read": 1, "vfs_write": 1, "kfree": 1, "kernel_clone": 1, "do_exit": 1, "vfs_open": 1, "dput": 1,
	"do_sys_openat2": 1, "exc_int3": 1, "__x86_indirect_thunk_rax": 1, "jiffies": 1, "name_show": 3,
	"sched.isra.0": 1,
}

func (kernel) Symbols(module, name string) int {
	if module != "" {
		return map[string]int{"foo:bar": 1}[module+":"+name]
	}
	return symbols[name]
}

func (kernel) Module(name string) bool { return name == "foo" }

func (kernel) Place(symbol string, offset uint64) probe.Place {
	switch {
	case symbols[symbol] == 0:
		return probe.NoPlace
	case offset == 0 || offset == 4:
		return probe.AtEntry
	}
	return probe.Inside
}

func (kernel) Address(symbol string) uint64 {
	if symbols[symbol] == 0 {
		return 0
	}
	return 0xffffffff81000000 + uint64(len(symbol))<<8
}

func (kernel) Pointer(addr uint64) string { return fmt.Sprintf("%016x", addr*0x9e3779b1&0xffffffff) }

func (kernel) Tracepoint(name string) (string, bool) {
	return "__probestub_" + name, name == "sched_switch" || name == "kfree"
}

func (kernel) Event(system, name string) *event.Type {
	switch system + "/" + name {
	case "sched/sched_switch":
		return switchType
	case "syscalls/sys_enter_openat":
		return openatType
	}
	return nil
}

func (kernel) Filter(t *event.Type, text string) error {
	if strings.HasPrefix(text, "bad") {
		return fmt.Errorf("filter %q: %w", text, syscall.ENOENT)
	}
	return nil
}

func (k kernel) MaxActive() bool { return !k.stacked }

func (kernel) File(path string) (probe.File, error) {
	switch path {
	case "/bin/sh", "/usr/bin/wl":
		return probe.File{ID: uint64(len(path)), Regular: true}, nil
	case "/sys", "/usr":
		return probe.File{ID: uint64(len(path))}, nil
	}
	return probe.File{}, fmt.Errorf("%s: %w", path, syscall.ENOENT)
}

func (k kernel) BTF() probe.BTF {
	if k.untyped {
		return nil
	}
	return types{}
}

// Types of the kernel, by number.
const (
	tVoid probe.TypeID = iota
	tChar
	tInt
	tUint
	tLong
	tUlong
	tFile
	tFilePtr
	tCharPtr
	tVoidPtr
	tPath
	tDentry
	tDentryPtr
	tName // char[16]
	tEnum
	tBool
	tOdd // an unsigned integer of 12 bits
)

type types struct{}

func (types) Type(id probe.TypeID) probe.CType {
	return map[probe.TypeID]probe.CType{
		tChar: {Kind: probe.CInt, Bits: 8}, tInt: {Kind: probe.CInt, Bits: 32, Signed: true},
		tUint: {Kind: probe.CInt, Bits: 32}, tLong: {Kind: probe.CInt, Bits: 64, Signed: true},
		tUlong: {Kind: probe.CInt, Bits: 64}, tBool: {Kind: probe.CInt, Bits: 8}, tOdd: {Kind: probe.CInt, Bits: 12},
		tFile: {Kind: probe.CStruct}, tPath: {Kind: probe.CStruct}, tDentry: {Kind: probe.CStruct},
		tFilePtr: {Kind: probe.CPtr, Elem: tFile}, tCharPtr: {Kind: probe.CPtr, Elem: tChar},
		tVoidPtr: {Kind: probe.CPtr}, tDentryPtr: {Kind: probe.CPtr, Elem: tDentry},
		tName: {Kind: probe.CArray, Elem: tChar}, tEnum: {Kind: probe.CEnum},
	}[id]
}

func (types) Member(id probe.TypeID, name string) (probe.Member, bool) {
	type key struct {
		id   probe.TypeID
		name string
	}
	m, ok := map[key]probe.Member{
		{tFile, "f_flags"}:    {Type: tUint, BitOff: 48 * 8},
		{tFile, "f_path"}:     {Type: tPath, BitOff: 64 * 8},
		{tFile, "f_mode3"}:    {Type: tUint, BitOff: 56*8 + 3, BitSize: 3},
		{tPath, "dentry"}:     {Type: tDentryPtr, BitOff: 8 * 8},
		{tDentry, "d_name"}:   {Type: tCharPtr, BitOff: 40 * 8},
		{tDentry, "d_iname"}:  {Type: tName, BitOff: 56 * 8},
		{tDentry, "d_parent"}: {Type: tDentryPtr, BitOff: 24 * 8},
	}[key{id, name}]
	return m, ok
}

func (types) Proto(function string) (probe.Proto, bool) {
	p, ok := map[string]probe.Proto{
		"vfs_read":     {Params: []probe.Param{{Name: "file", Type: tFilePtr}, {Name: "buf", Type: tCharPtr}, {Name: "count", Type: tUlong}, {Name: "pos", Type: tVoidPtr}}, Result: tLong},
		"kfree":        {Params: []probe.Param{{Name: "object", Type: tVoidPtr}}},
		"kernel_clone": {Params: []probe.Param{{Name: "args", Type: tVoidPtr}}, Result: tInt},
		"vfs_open":     {Params: []probe.Param{{Name: "path", Type: tVoidPtr}, {Name: "file", Type: tFilePtr}}, Result: tInt},
		"__probestub_sched_switch": {Params: []probe.Param{
			{Name: "__data", Type: tVoidPtr},
			{Name: "preempt", Type: tBool},
			{Name: "prev", Type: tVoidPtr},
			{Name: "next", Type: tVoidPtr},
			{Name: "prev_state", Type: tUint},
		}},
		"__probestub_kfree": {Params: []probe.Param{{Name: "__data", Type: tVoidPtr}, {Name: "call_site", Type: tUlong}, {Name: "ptr", Type: tVoidPtr}}},
	}[function]
	return p, ok
}

var switchType = mustParse("sched", `name: sched_switch
ID: 310
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:__data_loc char[] note;	offset:32;	size:4;	signed:0;
	field:__rel_loc char[] rel;	offset:36;	size:4;	signed:0;
	field:u8 flag;	offset:40;	size:1;	signed:0;
	field:u16 half;	offset:42;	size:2;	signed:0;

print fmt: "%s", REC->prev_comm
`)

var openatType = mustParse("syscalls", `name: sys_enter_openat
ID: 600
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:int dfd;	offset:16;	size:8;	signed:0;
	field:const char * filename;	offset:24;	size:8;	signed:0;

print fmt: "dfd: 0x%08lx", REC->dfd
`)

func mustParse(system, text string) *event.Type {
	t, err := event.ParseFormat(system, []byte(text))
	if err != nil {
		panic(err)
	}
	return t
}

// registry keeps probes as the tracer does: enough of it to say what the kernel's
// files say.
type registry struct {
	env      probe.Env
	defs     []*probe.Definition
	register func(*probe.Definition) syscall.Errno // what putting a probe into the kernel gives
}

// write does what a line written to one of the files of probes does.
func (r *registry) write(file, line string) error {
	if strings.HasPrefix(line, "-") {
		return r.remove(file, line)
	}
	parsers := map[string][]func(string, probe.Env) (*probe.Definition, error){
		"kprobe_events":  {probe.ParseKprobe},
		"uprobe_events":  {probe.ParseUprobe},
		"dynamic_events": {probe.ParseEprobe, probe.ParseKprobe, probe.ParseFprobe, probe.ParseUprobe},
	}[file]
	for _, parse := range parsers {
		d, err := parse(line, r.env)
		if errors.Is(err, syscall.ECANCELED) {
			continue
		}
		if err != nil {
			return err
		}
		return r.add(d)
	}
	return &probe.Error{Errno: syscall.EINVAL}
}

func (r *registry) add(d *probe.Definition) error {
	var siblings []*probe.Definition
	for _, old := range r.defs {
		if old.Group == d.Group && old.Event == d.Event {
			siblings = append(siblings, old)
		}
	}
	if d.Kind == probe.Eprobe && len(siblings) > 0 {
		return d.Exists()
	}
	if err := d.CheckAppend(siblings); err != nil {
		return err
	}
	if err := d.Resolve(r.env); err != nil {
		return err
	}
	if r.register != nil {
		if errno := r.register(d); errno != 0 {
			return d.Failed(errno)
		}
	}
	if d.Kind == probe.Kprobe && d.Return && d.MaxActive == 0 {
		d.MaxActive = 10
	}
	r.defs = append(r.defs, d)
	return nil
}

func (r *registry) remove(file, line string) error {
	words := strings.Fields(line)
	group, name := "", strings.TrimPrefix(words[0], "-:")
	if i := strings.IndexByte(name, '/'); i >= 0 {
		group, name = name[:i], name[i+1:]
	}
	n := len(r.defs)
	r.defs = slices.DeleteFunc(r.defs, func(d *probe.Definition) bool {
		return shows(file, d) && d.Match(group, name, words[1:])
	})
	if len(r.defs) == n {
		return &probe.Error{Errno: syscall.ENOENT}
	}
	return nil
}

// shows says whether a file shows a probe.
func shows(file string, d *probe.Definition) bool {
	switch file {
	case "kprobe_events":
		return d.Kind == probe.Kprobe
	case "uprobe_events":
		return d.Kind == probe.Uprobe
	}
	return true
}

// show is the text of a file.
func (r *registry) show(file string) string {
	var text strings.Builder
	for _, d := range r.defs {
		if shows(file, d) {
			text.WriteString(d.Show() + "\n")
		}
	}
	return text.String()
}

// logText is what error_log shows of an error, with [TIME] for the time.
func logText(err error) string {
	var e *probe.Error
	if !errors.As(err, &e) {
		return ""
	}
	var text strings.Builder
	for _, f := range e.Log {
		fmt.Fprintf(&text, "[TIME] %s: error: %s\n  Command: %s\n%s^\n", f.Location, f.Msg, f.Command,
			strings.Repeat(" ", len("  Command: ")+f.Pos))
	}
	return text.String()
}

func parseAny(tb testing.TB, text string) *probe.Definition {
	tb.Helper()
	r := registry{env: kernel{}}
	if err := r.write("dynamic_events", text); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return r.defs[0]
}
