package probe_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ftracelab/tracer/event/probe"
)

// Faults that no capture has. The caret is where ^ stands.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		definition string
		errno      syscall.Errno
		msg        string
	}{
		{"p:foo ^name_show", syscall.EINVAL, "The symbol is not unique"},
		{"p:foo ^foo:baz", syscall.EINVAL, "Invalid probed address or symbol"},
		{"p:foo ^vfs_read+0x100000000", syscall.EINVAL, "Invalid probed address or symbol"},
		{"p vfs_read ^@99999999999999999999999", syscall.ERANGE, "Invalid memory address"},
		{"p vfs_read +u0^($comm)", syscall.EINVAL, "$comm can not be dereferenced"},
		{"p vfs_read a=$comm:^u8", syscall.EINVAL, "$comm and immediate-string only accepts string type"},
		{`p vfs_read a=\"x":^string[2]`, syscall.EINVAL, "$comm and immediate-string only accepts string type"},
		{`p vfs_read \5:^symstr`, syscall.EINVAL, "Symbol String doesn't accept data/userdata"},
		{"p vfs_read $stack:^symstr", syscall.EINVAL, "Symbol String doesn't accept data/userdata"},
		{"p vfs_read %ax:^symstr[2]", syscall.EINVAL, "String accepts only memory argument"},
		{"p vfs_read +0(^" + strings.Repeat("+0(", 14) + "%ax" + strings.Repeat(")", 15), syscall.EINVAL, "Dereference is too much nested"},
		{"p vfs_read ^$argx", syscall.EINVAL, "Invalid $-variable specified"},
		{"p vfs_read ^$arg0", syscall.EINVAL, "Invalid argument number"},
		{"p vfs_read ^$arg1x", syscall.ENOENT, "Invalid $-variable specified"},
		{"p vfs_read a=^$arg1x", syscall.EINVAL, "Invalid $-variable specified"},
		{"p vfs_read+8 a=^$arg1", syscall.EINVAL, "$arg* can be used only on function entry or exit"},
		{"p vfs_read ^$arg5", syscall.ENOENT, "This variable is not found at this probe point"},
		{"p do_exit ^$arg*", syscall.EOPNOTSUPP, "BTF is not available or not supported"},
		{"p do_exit ^name", syscall.ENOENT, "No BTF entry for this probe point"},
		{"p vfs_read+8 ^file", syscall.EINVAL, "BTF is not available or not supported"},
		{"f vfs_read file.^f_flags", syscall.EOPNOTSUPP, "Non pointer structure/union argument is not supported."},
		{"f vfs_read pos->^x", syscall.EINVAL, "Failed to get BTF type info."},
		{"f vfs_read file->f_flags->^x", syscall.EINVAL, "This is not a pointer to union/structure."},
		{"f vfs_read file->f_flags.^x", syscall.EINVAL, "Failed to get BTF type info."},
		{"f vfs_read ^file:string", syscall.EINVAL, "This type does not fit for string."},
		{"f do_exit%return $retval->^x", syscall.ENOENT, "No BTF entry for this probe point"},
		{"f kfree%return ^$retval", syscall.ENOENT, "This function returns 'void' type"},
		{"f12x vfs_read", syscall.EINVAL, ""},
		{"t sched_switch^-x", syscall.EINVAL, "Invalid character in tracepoint name"},
		{"t sched_switch a=^$retval", syscall.EINVAL, "$retval is not available on probe"},
		{"p /bin/sh:0x10(^x)", syscall.EINVAL, "Invalid reference counter offset"},
		{"p /bin/sh:^16x", syscall.EINVAL, "Invalid uprobe offset"},
		{"p /bin/sh:16 ^@+9x", syscall.EINVAL, "Invalid file offset value"},
		{"p /bin/sh:16 ^$arg1", syscall.EINVAL, "$arg* can be used only on function entry or exit"},
		{"p:.x /bin/sh:16", syscall.EINVAL, ""},
		{"e:x sched.sched_switch a=^%ax", syscall.EINVAL, "Invalid fetch argument"},
		{"e:x sched.sched_switch if ^bad", syscall.EINVAL, ""},
		{"e:x sched.sched_switch a=@nosuch", syscall.ENOENT, ""},
		{"p vfs_read " + bigArrays(7), syscall.E2BIG, "Event too big (too many fields?)"},
		{"p vfs_read " + strings.Repeat("a ", 129), syscall.E2BIG, ""},
		{"p /bin/sh:1 " + strings.Repeat("a ", 129), syscall.E2BIG, ""},
		{"e sched.sched_switch " + strings.Repeat("a ", 129), syscall.E2BIG, ""},
		{"p vfs_read " + strings.Repeat("n1=@kfree:%pd ", 9), syscall.ENOMEM, ""},
	} {
		text := strings.Replace(c.definition, "^", "", 1)
		r := &registry{env: kernel{}}
		err := r.write("dynamic_events", text)
		var e *probe.Error
		if !errors.As(err, &e) || e.Errno != c.errno {
			t.Errorf("%s: %v, want %v", c.definition, err, c.errno)
			continue
		}
		if c.msg == "" {
			continue
		}
		if len(e.Log) == 0 || e.Log[len(e.Log)-1].Msg != c.msg {
			t.Errorf("%s: %+v, want %s", c.definition, e.Log, c.msg)
			continue
		}
		if want := strings.IndexByte(c.definition, '^'); want >= 0 && e.Log[len(e.Log)-1].Pos != want {
			t.Errorf("%s: column %d, want %d", c.definition, e.Log[len(e.Log)-1].Pos, want)
		}
		if !strings.Contains(e.Error(), c.msg) {
			t.Errorf("%q does not say %q", e.Error(), c.msg)
		}
	}
}

// bigArrays is arguments of 512 bytes each.
func bigArrays(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(" a" + string(rune('0'+i)) + "=@kfree:u64[64]")
	}
	return text.String()
}

// A kernel without BTF knows no names of arguments.
func TestWithoutBTF(t *testing.T) {
	for definition, errno := range map[string]syscall.Errno{
		"f vfs_read $arg*": syscall.EOPNOTSUPP, "f vfs_read file count": syscall.EOPNOTSUPP,
		"f vfs_read $arg1 a=$arg2": 0, "f kfree%return $retval": 0,
	} {
		r := &registry{env: kernel{untyped: true}}
		if err := r.write("dynamic_events", definition); !errors.Is(err, errno) && (err != nil || errno != 0) {
			t.Errorf("%s: %v, want %v", definition, err, errno)
		}
	}
}

// What a definition becomes: names that are made up, arguments that are expanded.
func TestShow(t *testing.T) {
	for definition, want := range map[string]string{
		"p vfs_read":                         "p:kprobes/p_vfs_read_0 vfs_read",
		"p vfs_read+0x4 %ax":                 "p:kprobes/p_vfs_read_4 vfs_read+4 arg1=%ax",
		"r100 vfs_read":                      "r100:kprobes/r_vfs_read_0 vfs_read",
		"p:g-1/ vfs_read%return":             "r10:g-1/r_vfs_read_0 vfs_read",
		"p:g.e sched.isra.0":                 "p:g/e sched.isra.0",
		"p sched.isra.0":                     "p:kprobes/p_sched_isra_0_0 sched.isra.0",
		"p foo:bar":                          "p:kprobes/p_foo_bar_0 foo:bar",
		"p 0x10":                             "p:kprobes/p_0x00000000e3779b10 0x00000000e3779b10",
		"p /bin/sh:0x10(0x20) %ax":           "p:uprobes/p_sh_0x10 /bin/sh:0x0000000000000010(0x20) arg1=%ax",
		"r:/ /usr/bin/wl:16":                 "",
		"r /usr/bin/wl:16":                   "r:uprobes/p_wl_0x10 /usr/bin/wl:0x0000000000000010",
		"p /usr/bin/wl:16%return(1)":         "r:uprobes/p_wl_0x10 /usr/bin/wl:0x0000000000000010(0x1)",
		"f vfs_read":                         "f:fprobes/vfs_read__entry vfs_read",
		"f vfs_read x=$retval":               "f:fprobes/vfs_read__exit vfs_read%return x=$retval",
		"f7 vfs_*%return":                    "f7:fprobes/vfs____exit vfs_*%return",
		"f vfs_read $arg*":                   "f:fprobes/vfs_read__entry vfs_read file=file buf=buf count=count pos=pos",
		"f vfs_read $arg2 $arg1:x8":          "f:fprobes/vfs_read__entry vfs_read buf=buf file=file:x8",
		"f vfs_read a=$arg2":                 "f:fprobes/vfs_read__entry vfs_read a=$arg2",
		"t kfree":                            "t:tracepoints/kfree kfree",
		"t kfree $arg*":                      "t:tracepoints/kfree kfree call_site=call_site ptr=ptr",
		"t 9p_fcall":                         "t:tracepoints/_9p_fcall 9p_fcall",
		"e sched/sched_switch":               "e:eprobes/sched_switch sched.sched_switch",
		"e:a/b sched.sched_switch if flag":   "e:a/b sched.sched_switch",
		"f dput n=$arg1:%pd":                 "f:fprobes/dput__entry dput n=+0x0(+0x28($arg1)):string",
		"p vfs_read file:%pD":                "p:kprobes/p_vfs_read_0 vfs_read arg1=+0x0(+0x28(+0x48(file))):string",
		"p vfs_read n=%di:%pD\x00 otherwise": "p:kprobes/p_vfs_read_0 vfs_read n=+0x0(+0x28(+0x48(%di))):string",
	} {
		r := &registry{env: kernel{}}
		err := r.write("dynamic_events", definition)
		if got := strings.TrimSuffix(r.show("dynamic_events"), "\n"); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s %v, want %s", definition, got, err, want)
		}
	}
}

// The types of variables that the BTF knows.
func TestBTFTypes(t *testing.T) {
	for args, want := range map[string]string{
		"file->f_flags":                      "u32 arg1",
		"count":                              "u64 count",
		"file":                               "u64 file",
		"x=file->f_path.dentry":              "u64 x",
		"x=file->f_path":                     "u64 x",
		"x=file->f_mode3":                    "u32 x",
		"x=file->f_path.dentry->d_name:u8":   "u8 x",
		"x=+0(file->f_path.dentry)":          "u64 x",
		"x=file->f_path.dentry->d_iname:u32": "u32 x",
	} {
		typ, err := parseAny(t, "f:a/b vfs_read "+args).NewType(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := typ.Fields[1].Decl; got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	typ, err := parseAny(t, "f:a/b vfs_read%return $retval").NewType(1)
	if err != nil {
		t.Fatal(err)
	}
	if got := typ.Fields[2].Decl; got != "s64 arg1" {
		t.Errorf("$retval: %s", got)
	}
}

// What a command that removes probes may say of one.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		definition, group, name, args string
		want                          bool
	}{
		{"p:a/b vfs_read x=%ax y=%bx", "a", "b", "", true},
		{"p:a/b vfs_read x=%ax y=%bx", "", "b", "vfs_read", true},
		{"p:a/b vfs_read x=%ax y=%bx", "a", "", "vfs_read x=%ax", true},
		{"p:a/b vfs_read x=%ax y=%bx", "c", "b", "", false},
		{"p:a/b vfs_read x=%ax y=%bx", "a", "c", "", false},
		{"p:a/b vfs_read x=%ax y=%bx", "a", "b", "vfs_write", false},
		{"p:a/b vfs_read x=%ax y=%bx", "a", "b", "vfs_read x=%bx", false},
		{"p:a/b vfs_read x=%ax y=%bx", "a", "b", "vfs_read x=%ax y=%bx z=%cx", false},
		{"p:a/b vfs_read+8", "a", "b", "vfs_read+8", true},
		{"p:a/b /bin/sh:0x10(0x20)", "a", "b", "/bin/sh:0x0000000000000010(0x20)", true},
		{"p:a/b /bin/sh:0x10(0x20)", "a", "b", "/bin/sh:0x0000000000000010", false},
		{"f:a/b vfs_read%return", "a", "b", "vfs_read", true},
		{"e:a/b sched.sched_switch p=$prev_pid", "a", "b", "sched/sched_switch p=$prev_pid", true},
		{"e:a/b sched.sched_switch p=$prev_pid", "a", "b", "sched.sched_wakeup", false},
		{"e:a/b sched.sched_switch p=$prev_pid", "a", "b", "sched", false},
	} {
		if got := parseAny(t, c.definition).Match(c.group, c.name, strings.Fields(c.args)); got != c.want {
			t.Errorf("%s: -:%s/%s %s: %v", c.definition, c.group, c.name, c.args, got)
		}
	}
}

// Probes that join an event, and names that are taken.
func TestCheckAppend(t *testing.T) {
	for _, c := range []struct{ first, then, msg string }{
		{"p:a/b vfs_read x=%ax", "p:a/b vfs_write x=%bx", ""},
		{"p:a/b vfs_read x=%ax", "p:a/b vfs_read x=%bx", ""},
		{"p:a/b vfs_read x=%ax", "p:a/b vfs_read x=%ax", "There is already the exact same probe event"},
		{"p:a/b vfs_read x=%ax", "p:a/b vfs_write ^x=%ax:u8", "Argument type or name is different from existing probe"},
		{"p:a/b vfs_read x=%ax", "p:a/b vfs_write^", "Argument type or name is different from existing probe"},
		{"p:a/b /bin/sh:1", "p:a/b /usr/bin/wl:1", ""},
		{"p:a/b /bin/sh:1", "p:a/b /bin/sh:2", ""},
		{"p:a/b /bin/sh:1", "^p:a/b /bin/sh:1", "There is already the exact same probe event"},
		{"p:a/b /bin/sh:1", "^r:a/b /bin/sh:1", "Probe type is different from existing probe"},
		{"t:a/b kfree", "^f:a/b kfree", "Probe type is different from existing probe"},
		{"e:a/b sched.sched_switch", "^e:a/b sched.sched_switch", "Given group/event name is already used by another event"},
	} {
		r := &registry{env: kernel{}}
		if err := r.write("dynamic_events", c.first); err != nil {
			t.Fatal(err)
		}
		err := r.write("dynamic_events", strings.Replace(c.then, "^", "", 1))
		var e *probe.Error
		switch {
		case c.msg == "" && err == nil:
		case !errors.As(err, &e), len(e.Log) != 1, e.Log[0].Msg != c.msg, e.Errno != syscall.EEXIST:
			t.Errorf("%s, %s: %v, want %s", c.first, c.then, err, c.msg)
		}
	}
}
