package printfmt

import (
	"bytes"
	"testing"
)

// base is where the kernel's text is, and all that is known of it.
type base uint64

func (b base) Address(name string) (uint64, bool) { return uint64(b), name == "_stext" }

func (b base) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	return "f", "", addr - uint64(b), 64, addr-uint64(b) < 64
}

// FuzzNumber compares what is computed as numbers, and what is bound to an Env, with
// what eval says.
func FuzzNumber(f *testing.F) {
	data := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\xfb\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x80\x81\x82\x83")
	for _, expr := range []string{
		`REC->i >> 1`, `REC->u - REC->i * 3`, `-REC->b`, `~REC->h`, `!REC->i`, `REC->i ?: 9`, `REC->i ? REC->b : REC->l`,
		`REC->i ? REC->u : 4U`, `(u8)REC->l`, `(void *)REC->l`, `(u32 *)REC->l + 2`, `(int)REC->l / REC->b`, `REC->i % 3`, `REC->u << 40`,
		`REC->i < REC->u`, `REC->l >= REC->u && REC->b`, `0 || REC->h`, `(s8)REC->b == -128`, `__get_dynamic_array_len(d) + 1`,
		`REC->d`, `({ int a = REC->b; unsigned long c = a; a ^ c | REC->i & 7; })`, `REC->a[1] + REC->i`, `REC->i ? "x" : "y"`,
		`REC->b ? REC->i ? "a" : "b" : __print_symbolic(REC->i, { -5, "five" })`, `__print_flags(REC->u, "|", { 2, "two" })`,
		`(struct page *)REC->l`, `(uuid_t)REC->l`, `GONE ? 1 : REC->i`, `*(int *)REC->l`, `(REC->l ? (u16 *)REC->l : (u16 *)8) == 0`,
		`(void *)((unsigned long)(_stext) + REC->b)`, `_stext ? REC->i : GONE`, `REC->a[_stext >> 60] * 2`, `*(int *)_stext`,
	} {
		f.Add(expr, data)
	}
	fields := map[string]Field{
		"b": {Offset: 24, Size: 1, Elem: 1}, "h": {Offset: 24, Size: 2, Signed: true, Elem: 2},
		"i": {Offset: 8, Size: 4, Signed: true, Elem: 4}, "u": {Offset: 12, Size: 4, Elem: 4},
		"l": {Offset: 16, Size: 8, Signed: true, Elem: 8}, "d": {Offset: 8, Size: 4, Elem: 1, Kind: DataLoc},
		"a": {Offset: 8, Size: 8, Elem: 2, Kind: Array}, "odd": {Offset: 9, Size: 3, Elem: 3},
	}
	f.Fuzz(func(t *testing.T, expr string, data []byte) {
		src := `"%d %5u|%-6lx|%lld|%llu|%s|%c|%p|%pS|%*d", ` + arguments(expr, 11)
		p, err := Compile(src, func(name string) (Field, bool) { f, ok := fields[name]; return f, ok })
		if err != nil {
			return
		}
		kernel, library := &Env{Symbols: base(1 << 60)}, &Env{Library: true}
		fast := p.Append(p.Append(nil, data, kernel), data, library)
		bound := p.Bind(kernel, "(", "").Append(nil, data, kernel)
		bound = p.Bind(library, "", ")").Append(bound, data, library)
		if want := "(" + string(fast) + ")"; string(bound) != want {
			t.Errorf("bound: %s\n got %q\nwant %q", expr, bound, want)
		}
		for i := range p.convs {
			c := &p.convs[i]
			for _, n := range []*node{c.arg, c.widthArg, c.precArg} {
				unsettle(n)
			}
		}
		if slow := p.Append(p.Append(nil, data, kernel), data, library); !bytes.Equal(fast, slow) {
			t.Errorf("%s\n got %q\nwant %q", expr, fast, slow)
		}
	})
}

// arguments is an expression n times.
func arguments(expr string, n int) string {
	list := make([][]byte, n)
	for i := range list {
		list[i] = []byte(expr)
	}
	return string(bytes.Join(list, []byte(", ")))
}

// unsettle leaves all to eval.
func unsettle(n *node) {
	if n != nil && n.settled {
		n.settled, n.isNumber = false, false
		for _, k := range []*node{n.a, n.b, n.c} {
			unsettle(k)
		}
	}
}
