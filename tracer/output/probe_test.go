package output_test

import (
	"strings"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// probeFormat is the format file of an event of a probe with these fields and print fmt.
func probeFormat(fields, printFmt string) string {
	return "name: myprobe\nID: 1500\nformat:\n" +
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" + fields + "\nprint fmt: " + printFmt + "\n"
}

const probeIP = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"

// TestProbeArgs has what no capture has: strings that could not be read, arrays of
// strings, characters.
//
// Kernel: trace_probe_print_args, PRINT_TYPE_FUNC_NAME(string), kernel/trace/trace_probe.c.
func TestProbeArgs(t *testing.T) {
	place := [2]uint64{0xffffffff81000000, 8}
	for _, c := range []struct {
		name, fields, printFmt string
		data                   []byte
		want                   string
	}{
		{
			"fault", probeIP + "\tfield:__data_loc char[] s;\toffset:16;\tsize:4;\tsigned:1;\n",
			`"(%lx) s=\"%s\"", REC->__probe_ip, __get_str(s)`,
			bytesOf(place, [2]uint64{20, 4}), " s=(fault)",
		},
		{
			"strings", probeIP + "\tfield:__data_loc char[][3] s;\toffset:16;\tsize:12;\tsigned:1;\n",
			`"(%lx) s={\"%s\",\"%s\",\"%s\"}", REC->__probe_ip, __get_str(s[0]), __get_str(s[1]), __get_str(s[2])`,
			append(bytesOf(place, [2]uint64{3<<16 | 28, 4}, [2]uint64{31, 4}, [2]uint64{1<<16 | 31, 4}), "ab\x00\x00"...),
			` s={"ab",(fault),""}`,
		},
		{
			"array", probeIP + "\tfield:u8 c[];\toffset:16;\tsize:2;\tsigned:0;\n\tfield:s16 d[];\toffset:18;\tsize:4;\tsigned:1;\n\tfield:u8 e;\toffset:22;\tsize:1;\tsigned:0;\n",
			`"(%lx) c={'%c','%c'} d={%d,%d} e=0x%x", REC->__probe_ip, REC->c[0], REC->c[1], REC->d[0], REC->d[1], REC->e`,
			bytesOf(place, [2]uint64{'x', 1}, [2]uint64{'y', 1}, [2]uint64{0xffff, 2}, [2]uint64{2, 2}, [2]uint64{255, 1}),
			" c={'x','y'} d={-1,2} e=0xff",
		},
		{
			"symbol", probeIP + "\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;\n",
			`"(%lx) a=%pS", REC->__probe_ip, REC->a`,
			bytesOf(place, [2]uint64{0xffffffff81000010, 8}), " a=0xffffffff81000010",
		},
		{
			"not a probe's", probeIP + "\tfield:u64 a;\toffset:16;\tsize:8;\tsigned:0;\n",
			`"(%lx) b=%lld", REC->__probe_ip, REC->a`,
			bytesOf(place, [2]uint64{5, 8}), " b=5",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			typ, err := event.ParseFormat("mygroup", []byte(probeFormat(c.fields, c.printFmt)))
			if err != nil {
				t.Fatal(err)
			}
			types, err := event.NewTable(typ)
			if err != nil {
				t.Fatal(err)
			}
			got := printOne(t, output.Config{Tracer: "nop", Options: output.DefaultOptions, Types: types}, append(header(1500, 0, 0, 62), c.data...), 0)
			_, got, _ = strings.Cut(got, "myprobe: (")
			_, got, _ = strings.Cut(got, ")")
			if got != c.want+"\n" {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
