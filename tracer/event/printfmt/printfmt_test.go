package printfmt_test

import (
	"strings"
	"testing"

	"ftracelab/tracer/event/printfmt"
)

// fields of the records below.
var fields = map[string]printfmt.Field{
	"i":     {Offset: 8, Size: 4, Signed: true, Elem: 4},
	"u":     {Offset: 12, Size: 4, Elem: 4},
	"l":     {Offset: 16, Size: 8, Signed: true, Elem: 8},
	"comm":  {Offset: 24, Size: 8, Elem: 1, Kind: printfmt.Array},
	"words": {Offset: 32, Size: 8, Elem: 2, Kind: printfmt.Array},
	"str":   {Offset: 40, Size: 4, Elem: 1, Kind: printfmt.DataLoc},
	"arr":   {Offset: 44, Size: 4, Elem: 4, Kind: printfmt.DataLoc},
	"rel":   {Offset: 48, Size: 4, Elem: 1, Kind: printfmt.RelLoc},
	"b":     {Offset: 52, Size: 1, Elem: 1},
	"addr":  {Offset: 56, Size: 16, Elem: 1, Kind: printfmt.Array},
	"sa":    {Offset: 72, Size: 28, Elem: 1, Kind: printfmt.Array},
}

func lookup(name string) (printfmt.Field, bool) {
	f, ok := fields[name]
	return f, ok
}

// record has i=-5 u=0xfffffffe l=-1 comm="bash" words={1,2,3,0xffff}
// str="hello" arr={1,2} rel="rel" b=200, an IPv6 address and a sockaddr.
func record() []byte {
	data := make([]byte, 100)
	copy(data[8:], "\xfb\xff\xff\xff\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	copy(data[24:], "bash\x00xxx\x01\x00\x02\x00\x03\x00\xff\xff")
	copy(data[40:], "\x64\x00\x06\x00\x6a\x00\x08\x00\x3e\x00\x04\x00\xc8")
	copy(data[56:], "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01")
	copy(data[72:], "\x02\x00\x00\x50\x7f\x00\x00\x01")
	data = append(data, "hello\x00\x01\x00\x00\x00\x02\x00\x00\x00rel\x00"...)
	return data
}

type symbols struct{}

func (symbols) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	switch {
	case addr >= 0x1000 && addr < 0x1100:
		return "vfs_read", "", addr - 0x1000, 0x100, true
	case addr >= 0x2000 && addr < 0x2010:
		return "probe", "mod", addr - 0x2000, 0x10, true
	}
	return "", "", 0, 0, false
}

func (symbols) Address(name string) (uint64, bool) { return 0x1000, name == "_stext" }

var env = &printfmt.Env{
	Symbols: symbols{},
	HashPtr: func(a uint64) uint64 { return a ^ 0xff },
	Strings: func(a uint64) (string, bool) { return "constant", a == 0x5000 },
}

var tests = []struct{ format, want string }{
	// integer conversions
	{`"%d %u %x %lx %lld", REC->i, REC->i, REC->i, REC->l, REC->l`, "-5 4294967291 fffffffb ffffffffffffffff -1"},
	{`"[%5d|%-5d|%05d|%+d|% d]", 42, 42, -42, 42, 42`, "[   42|42   |-0042|+42| 42]"},
	{`"%#x %#X %#o %#x %#llx", 255, 255, 8, 0, 255ULL`, "0xff 0XFF 010 0x0 0xff"},
	{`"%08lx %016llx %.4d %6.3u", 0xbeefUL, 1ULL, 7, 7`, "0000beef 0000000000000001 0007    007"},
	{`"%*d|%-*d|%0*llx|%*d", 4, 7, 4, 7, (int)2 * 2, 10, -4, 7`, "   7|7   |000a|7   "},
	{`"%hd %hu %hhd %hhu %c%c", 65535, 65536 + 7, 255, 256 + 9, 'o', 107`, "-1 7 -1 9 ok"},
	{`"%zu %zd %Lu %i %X", sizeof(u64), -1L, 5ULL, 6, 0xabc`, "8 -1 5 6 ABC"},
	{`"100%% %u%%", 5`, "100% 5%"},
	{`"a" "b\n" "\x41\101\\\t"`, "ab\nAA\\\t"},
	// strings
	{`"%s|%8s|%-8s|%.2s|%.*s", REC->comm, REC->comm, REC->comm, REC->comm, 3, REC->comm`, "bash|    bash|bash    |ba|bas"},
	{`"%s %s %s", __get_str(str), __get_rel_str(rel), (char *)__get_dynamic_array(str)`, "hello rel hello"},
	{`"%s %s %s", 0, 0x5000UL, 0x6000UL`, "(null) constant 0x6000"},
	{`"%c%c %s", __get_str(str)[0], REC->comm[1], __get_str(str)[0] ? " " : "-"`, "ha  "},
	// expressions
	{`"%d %d %d", 1 + 2 * 3, (1 + 2) * 3, 10 - 4 - 3`, "7 9 3"},
	{`"%d %d %d %d", 1 << 4 | 1, 6 & 3 ^ 1, ~0, !5`, "17 3 -1 0"},
	{`"%d %d %d", -7 / 2, -7 % 2, 7 / 0`, "-3 -1 0"},
	{`"%d %d %d", -1 < 1U, -1 < 1, -1L < 1U`, "0 1 1"},
	{`"%x %d", (u8)0x1ff, (int)(s8)0xff`, "ff -1"},
	{`"%d %lx", REC->i >> 1, (unsigned long)REC->i >> 60`, "-3 f"},
	{`"%s %d", REC->i > 0 ? "pos" : REC->i ? "neg" : "zero", REC->i ?: 9`, "neg -5"},
	{`"%d %d", REC->i && REC->u, 0 || 0`, "1 0"},
	{`"%d %d %d %d", REC->words[1], (REC)->words[3], REC->words[9], REC->words[-1]`, "2 65535 0 0"},
	{`"%d %d", ((u32 *)__get_dynamic_array(arr))[1], *(u32 *)__get_dynamic_array(arr)`, "2 1"},
	{`"%d %d", __get_dynamic_array_len(arr) / sizeof(u32), sizeof(REC->comm)`, "2 8"},
	{`"%u", ({ int a = (REC->b); int b = (128); ((a) < (b) ? (a) : (b)); })`, "128"},
	{`"%d", __builtin_expect(!!(REC->i), 0)`, "1"},
	{`"%llu.%09u", __print_ns_to_secs(1234567890123ULL), __print_ns_without_secs(1234567890123ULL)`, "1234.567890123"},
	{`"%lx", ((struct page *)vmemmap_base) + 2`, "ffffea0000000080"},
	// helpers that make text
	{`"%s", __print_flags(REC->b, "|", { 8, "H" }, { 0x40, "S" }, { 0x100, "no" })`, "H|S|0x80"},
	{`"[%s] [%s]", __print_flags(0, "|", { 1, "A" }), __print_flags(2, "", { 1, "A" })`, "[] [0x2]"},
	{`"%s %s", __print_symbolic(REC->i, { -5, "minus five" }, { 0, "zero" }), __print_symbolic(7, { 1, "A" })`, "minus five 0x7"},
	{`"%s", __print_symbolic(9, { 1, "A" }, { -1, ((void *)0) }, { 9, "behind the end" })`, "0x9"},
	{`"%12s|%-12s|%.3s", __print_symbolic(1, { 1, "one" }), __print_symbolic(1, { 1, "one" }), __print_symbolic(1, { 1, "onetwo" })`, "         one|one         |one"},
	{`"%s %s", __print_array(REC->words, 4, 2), __print_array(__get_dynamic_array(arr), 99, 4)`, "{0x1,0x2,0x3,0xffff} {0x1,0x2}"},
	{`"%s", __print_dynamic_array(arr, sizeof(u32))`, "{0x1,0x2}"},
	{`"%s %s", __print_hex(REC->words, 3), __print_hex_str(REC->words, 3)`, "01 00 02 010002"},
	{`"%s", __get_bitmask(arr)`, "00000002,00000001"},
	{`"%s", __print_symbolic(3, { HRTIMER_MODE_REL_PINNED, "REL|PINNED" })`, "REL|PINNED"},
	{`"%s %s", __print_symbolic(2, { DID_BUS_BUSY, "DID_BUS_BUSY" }), __print_symbolic(6, { nvme_admin_identify, "identify" })`, "DID_BUS_BUSY identify"},
	{`"%d %d", SAM_STAT_TASK_ABORTED, nvme_fabrics_command`, "64 127"},
	// small functions of the kernel
	{`"%x %x %llx", __builtin_bswap16(REC->words[0]), __builtin_bswap32((__u32)(REC->b)), __builtin_bswap64(0x1ULL)`, "100 c8000000 100000000000000"},
	{`"%d %x", __le16_to_cpup((__le16 *)__get_dynamic_array(arr)), __be32_to_cpup((__be32 *)__get_dynamic_array(arr))`, "1 1000000"},
	{`"%s/%s/%4s", str_yes_no(REC->i), str_on_off(REC->i - REC->i), str_read_write(!0)`, "yes/off/read"},
	{`"%lld %lld %lld", ktime_to_us(-2500LL), ktime_to_ms(REC->i), ktime_to_ns(REC->i)`, "-2 0 -5"},
	// pointers
	{`"%p %p %p %px", 0x1000UL, 0, -2L, 0x1000UL`, "00000000000010ff 0000000000000000 fffffffffffffffe 0000000000001000"},
	{`"%pS %ps %pF %pf %pB", 0x1010UL, 0x1010UL, 0x2001UL, 0x2001UL, 0x1100UL`, "vfs_read+0x10/0x100 vfs_read probe+0x1/0x10 [mod] probe [mod] vfs_read+0x100/0x100"},
	{`"%pS %ps|%12ps|", 0x9UL, 0UL, 0x1010UL`, "0x9 0x0|    vfs_read|"},
	{`"%pS", (void *)((unsigned long)(_stext) + 4)`, "vfs_read+0x4/0x100"},
	{`"%*ph %*phC %*phD %*phN", 3, REC->words, 2, REC->words, 2, REC->words, 2, REC->words`, "01 00 02 01:00 01-00 0100"},
	{`"[%*phD] [%ph]", 0, REC->words, REC->words`, "[] [01]"},
	{`"%*pbl|%*pbl|%*pbl", 64, REC->words, 4, REC->words, 1, REC->words + 1`, "0,17,32-33,48-63|0|"},
	{`"%pI6 %pI6c %pI4 %pi4", REC->addr, REC->addr, REC->addr, REC->addr`, "2001:0db8:0000:0000:0000:0000:0000:0001 2001:db8::1 32.1.13.184 032.001.013.184"},
	{`"%pIS %pISpc", REC->sa, REC->sa`, "127.0.0.1 127.0.0.1:80"},
	{`"%pM %pMF %pm", REC->addr, REC->addr, REC->addr`, "20:01:0d:b8:00:00 20-01-0d-b8-00-00 20010db80000"},
	{`"%pU %pUl %pUB", REC->addr, REC->addr, REC->addr`, "20010db8-0000-0000-0000-000000000001 b80d0120-0000-0000-0000-000000000001 20010DB8-0000-0000-0000-000000000001"},
	{`"%pUb", &REC->addr`, "20010db8-0000-0000-0000-000000000001"},
	// what only the kernel knows
	{`"%s %d", decode_it(REC->i, "x"), SOME_ENUM + 1`, "[unknown decode_it] [unknown SOME_ENUM]"},
	{`"%d %s", REC->gone, SOME_ENUM ? "a" : "b"`, "[unknown REC->gone] [unknown SOME_ENUM]"},
	{`"%d", *(int *)REC->l`, "[unknown kernel memory]"},
}

func TestAppend(t *testing.T) {
	data := record()
	for _, tt := range tests {
		p, err := printfmt.Compile(tt.format, lookup)
		if err != nil {
			t.Errorf("%s: %v", tt.format, err)
			continue
		}
		if got := string(p.Append([]byte("> "), data, env)); got != "> "+tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.format, got, "> "+tt.want)
		}
		if unknown := strings.Contains(tt.want, "[unknown ") && !strings.Contains(tt.want, "kernel memory"); unknown != (len(p.Unknown()) > 0 && !strings.Contains(tt.format, "_stext")) {
			t.Errorf("%s: Unknown() = %q", tt.format, p.Unknown())
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ format, want string }{
		{`REC->i`, "expected the format string"},
		{`"%d"`, "more conversions than arguments"},
		{`"%d", REC->i REC->u`, `offset 13: unexpected "REC"`},
		{`"%d`, "without its closing quote"},
		{`"%d", (REC->i`, `expected ")"`},
		{`"%y", 1`, "unknown conversion %y"},
		{`"%l", 1`, "cut off"},
		{`"%d", 12x`, "bad digit or suffix"},
		{`"%d", 'ab'`, "closing quote"},
		{`"%d", $`, "unexpected character"},
		{`"%s", __print_flags(1, "|", 5)`, `expected "{"`},
		{`"%s", __get_str(1)`, "expected a field name"},
		{`"%d", ` + strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500), "nested more than"},
		{`"%d", ` + strings.Repeat("-", 500) + "1", "nested more than"},
		{`"%d", ({ int a = REC->i; ` + doublings(30) + ` a; })`, "expression too large"},
	} {
		if _, err := printfmt.Compile(tt.format, lookup); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: error %v, want %q in it", tt.format, err, tt.want)
		}
	}
}

// doublings declares variables each of which uses the one before twice.
func doublings(n int) string { return strings.Repeat("int a = a + a; ", n) }

// A record that is too short, or whose locations lie, gives less text.
func TestLyingRecords(t *testing.T) {
	for _, tt := range tests {
		p, err := printfmt.Compile(tt.format, lookup)
		if err != nil {
			t.Fatal(err)
		}
		data := record()
		for n := range data {
			p.Append(nil, data[:n:n], env)
		}
		for i := range data {
			lie := record()
			lie[i] = 0xff
			p.Append(nil, lie, nil)
		}
	}
	p, _ := printfmt.Compile(`"%s", __get_str(str)`, lookup)
	lie := record()
	copy(lie[40:], "\x72\x00\xff\xff") // begins inside, ends far outside
	if got := string(p.Append(nil, lie, nil)); got != "rel" {
		t.Errorf("got %q", got)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	data := record()
	buf := make([]byte, 0, 4096)
	for _, tt := range tests {
		p, err := printfmt.Compile(tt.format, lookup)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { buf = p.Append(buf[:0], data, env) }); n > 0 {
			t.Errorf("%s: %v allocations", tt.format, n)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, tt := range tests {
		f.Add(tt.format, record())
	}
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		p, err := printfmt.Compile(format, lookup)
		if err != nil {
			return
		}
		if text := p.Append(nil, data, env); len(text) > 1<<16*(len(format)+1) {
			t.Errorf("%d bytes of text from a format of %d", len(text), len(format))
		}
	})
}

// TestNoPtrKey: as long as there is no key every address looks the same, known or not.
func TestNoPtrKey(t *testing.T) {
	p, err := printfmt.Compile(`"%p %20p %p %px %p %s", (void *)0x1000, (void *)0x1000, (void *)0, (void *)0x1000, gone(1), gone(1)`, lookup)
	if err != nil {
		t.Fatal(err)
	}
	const want = "(____ptrval____)     (____ptrval____) 0000000000000000 0000000000001000 (____ptrval____) [unknown gone]"
	if got := string(p.Append(nil, record(), &printfmt.Env{NoPtrKey: true})); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
