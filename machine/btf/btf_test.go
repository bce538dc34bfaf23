package btf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/machine/btf"
)

func load(t testing.TB) *btf.Model {
	t.Helper()
	m, err := btf.Load()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The prototypes that the kernel's tests and documents name.
func TestFunc(t *testing.T) {
	m := load(t)
	for _, c := range []struct{ name, params, result string }{
		{"vfs_read", "file buf count pos", "ssize_t"},
		{"vfs_open", "path file", "int"},
		{"kfree", "object", "void"},
		{"getname_flags", "filename flags", "struct filename *"},
		{"__probestub_sched_switch", "__data preempt prev next prev_state", "void"},
		{"__probestub_kfree", "__data call_site ptr", "void"},
		{"__probestub_kmem_cache_alloc", "__data call_site ptr s gfp_flags node", "void"},
		{"__probestub_sched_wakeup", "__data p", "void"},
		{"schedule", "", "void"},
		{"eventfs_create_dir", "name parent entries size data", "struct eventfs_inode *"},
	} {
		f, ok := m.Func(c.name)
		if !ok {
			t.Errorf("no %s", c.name)
			continue
		}
		var names []string
		for _, p := range f.Params {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != c.params {
			t.Errorf("%s(%s), want %s", c.name, got, c.params)
		}
		want, star := strings.CutSuffix(c.result, " *")
		result := f.Result
		if star {
			result = m.Type(f.Result).Elem
		}
		if id, ok := m.Named(want); !ok || result != id {
			t.Errorf("%s returns %+v, want %s", c.name, m.Type(f.Result), c.result)
		}
	}
	if _, ok := m.Func("non_exist_func"); ok {
		t.Error("non_exist_func is a function")
	}
}

// Offsets that captures show: struct task_struct is as large as init_task in the
// symbol table, and so on.
func TestOffset(t *testing.T) {
	m := load(t)
	for _, c := range []struct {
		structure, path string
		want            uint64
		ok              bool
	}{
		{"task_struct", "", 0, true},
		{"list_head", "prev", 8, true},
		{"dentry", "d_name.name", 40, true},
		{"dentry", "d_name.len", 36, true}, // in an anonymous union's anonymous structure
		{"path", "dentry", 8, true},
		{"filename", "name", 0, true},
		{"file", "f_bad", 0, false},
		{"nosuch", "a", 0, false},
		{"file", "f_path.nosuch", 0, false},
	} {
		if got, ok := m.Offset(c.structure, c.path); ok != c.ok || ok && got != c.want {
			t.Errorf("%s.%s: %d, %v, want %d, %v", c.structure, c.path, got, ok, c.want, c.ok)
		}
	}
	if got := m.Size("task_struct"); got != 9792 {
		t.Errorf("struct task_struct has %d bytes, want 9792", got)
	}
}

// Every member lies within its structure, and those of a structure (not a union) that
// are no bitfields do not overlap.
func TestLayoutsAreSound(t *testing.T) {
	m := load(t)
	for id := btf.ID(1); m.Type(id).Kind != btf.Void; id++ {
		s := m.Type(id)
		for _, f := range s.Members {
			if end := f.Bit/8 + m.Type(f.Type).Size; f.Bits == 0 && end > s.Size {
				t.Errorf("%s.%s ends at %d of %d", s.Name, f.Name, end, s.Size)
			}
		}
		if s.Kind == btf.Struct && strings.HasPrefix(s.Name, "struct ") {
			end := 0
			for _, f := range s.Members {
				if f.Bit < end {
					t.Errorf("%s.%s at bit %d overlaps what ends at %d", s.Name, f.Name, f.Bit, end)
				}
				end = f.Bit + max(f.Bits, 0)
				if f.Bits == 0 {
					end = f.Bit + 8*m.Type(f.Type).Size
				}
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ types, functions, want string }{
		{"\t0 int a", "", `btf: types: line 1: a member "0 int a" of nothing`},
		{"struct a x", "", `btf: types: line 1: number "x"`},
		{"struct a", "", `btf: types: line 1: "struct a": want a name and more`},
		{"struct a 4\n\t0 nosuch b", "", `btf: types: line 2: no type "nosuch"`},
		{"struct a 4\n\t0 int", "", `btf: types: line 2: "int": want a type and a name`},
		{"struct a 4\n\t0 int b[9999999]", "", `btf: types: line 2: number "9999999"`},
		{"struct a 4\n\t0 u64 b[1000000]", "", `btf: types: line 2: "b[1000000]" is too large`},
		{"struct a 4\n\t0 int b\nstruct a 4", "", `btf: types: line 3: struct a is there twice`},
		{"enum a 4", "", `btf: types: line 1: "enum": want typedef, struct or union`},
		{"", "# comment\n\nint f", `btf: functions: line 3: "int f" is no prototype`},
		{"", "int f(int)", `btf: functions: line 1: parameter "int": want a type and a name`},
		{"", "nosuch f(int a)", `btf: functions: line 1: no type "nosuch"`},
	} {
		_, err := btf.Parse(c.types, c.functions)
		var e *btf.Error
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("%q, %q: %v, want %s", c.types, c.functions, err, c.want)
		}
	}
}

// What is declared is what is found, whatever the offsets and however deep.
func TestMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 12).Draw(t, "depth")
		text, want := "struct a 4096\n", 0
		for d := range depth {
			off := rapid.IntRange(0, 99).Draw(t, "off")
			text += fmt.Sprintf("%s%d union 99\n", strings.Repeat("\t", d+1), off)
			want += off
		}
		off := rapid.IntRange(0, 99).Draw(t, "off")
		text += fmt.Sprintf("%s%d int x\n", strings.Repeat("\t", depth+1), off)
		m, err := btf.Parse(text, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Offset("a", "x"); !ok || got != uint64(want+off) {
			t.Fatalf("%d, %v, want %d:\n%s", got, ok, want+off, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("typedef u64 size_t\nstruct a 16\n\t0 size_t b[2]\n\t0 union 8\n\t\t0.3 u32 c:3\n", "struct a *f(int x, size_t *y)\n")
	f.Add("struct a 8\n\t0 struct b *b\n", "void g()\n")
	f.Fuzz(func(t *testing.T, types, functions string) {
		m, err := btf.Parse(types, functions)
		if err != nil {
			return
		}
		for id := btf.ID(0); id < 100; id++ {
			m.Member(id, "a")
			m.Type(id)
		}
	})
}

func ExampleModel_Offset() {
	m, err := btf.Load()
	if err != nil {
		panic(err)
	}
	off, _ := m.Offset("dentry", "d_name.name")
	fmt.Printf("the name of a dentry: +%d\n", off)
	f, _ := m.Func("vfs_read")
	for _, p := range f.Params {
		fmt.Println(p.Name, m.Type(p.Type).Size)
	}
	// Output:
	// the name of a dentry: +40
	// file 8
	// buf 8
	// count 8
	// pos 8
}
