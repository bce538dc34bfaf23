package probe_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/probe"
)

// record is a captured record and its type.
type record struct {
	typ  *event.Type
	data []byte
}

func (r record) num(name string) uint64  { return r.typ.Field(name).Uint(r.data) }
func (r record) text(name string) string { return r.typ.Field(name).String(r.data) }

// memoryOf is what a source needs to have for a record to come out as it was captured.
// A key is the capture's folder and the event.
var memoryOf = map[string]func(r record, m *machine){
	"kprobes/p_open": func(r record, m *machine) {
		m.regs = map[string]uint64{"di": r.num("dfd"), "si": userBase, "dx": kernelBase}
		m.user, m.kernel = []byte(r.text("fname")+"\x00"), []byte(pointer(r.num("flags")))
	},
	"kprobes/r_open": func(r record, m *machine) { m.ret = r.num("ret") },
	"kprobes/r_vfsr": func(r record, m *machine) { m.ret = r.num("arg1") },
	"kprobes/p_vfsr": func(r record, m *machine) {
		m.args = []uint64{r.num("a1"), 0, r.num("a3")}
		m.regs, m.comm, m.stack = map[string]uint64{"dx": r.num("a3d")}, r.text("comm"), []uint64{r.num("stk")}
	},
	"kprobes/p_str": func(r record, m *machine) {
		m.regs, m.user = map[string]uint64{"si": userBase}, []byte(r.text("s")+"\x00")
	},
	"fprobes/f_vfsr":     func(r record, m *machine) { m.args = []uint64{r.num("a1"), 0, r.num("a3")} },
	"fprobes/f_vfsr_ret": func(r record, m *machine) { m.ret = r.num("ret") },
	"fprobes/f_multi":    func(record, *machine) {},
	"fprobes/t_sw":       func(record, *machine) {},
	"fprobes/fx":         func(r record, m *machine) { m.args = []uint64{r.num("arg")} },
	"fprobes/e_open": func(r record, m *machine) {
		m.record = []byte(pointer(0) + pointer(257) + pointer(r.num("dfd")) + pointer(userBase))
		m.user = []byte(r.text("file") + "\x00")
	},
	"uprobes/u_xw": func(r record, m *machine) {
		m.regs = map[string]uint64{"di": r.num("fd"), "dx": r.num("n"), "si": userBase}
		m.user, m.comm = r.typ.Field("b").Bytes(r.data), r.text("comm")
	},
	"uprobes/u_xwr": func(r record, m *machine) { m.ret = r.num("ret") },
}

// TestCapturedPages encodes what the kernel had recorded: the bytes are the kernel's.
func TestCapturedPages(t *testing.T) {
	for _, capture := range []string{"debian/dynamic_hist_misc/kprobes", "debian/dynamic_hist_misc/uprobes", "full/dynamic_hist_misc/fprobes", "full/dynamic_hist_misc/uprobes"} {
		t.Run(capture, func(t *testing.T) {
			dir := filepath.Join(testutil.Oracle(t), capture)
			kernel := kernel{untyped: strings.HasPrefix(capture, "full")}
			probes := map[int]capturedProbe{}
			listing, err := os.ReadFile(filepath.Join(dir, "dynamic_events"))
			if err != nil {
				t.Fatal(err)
			}
			r := &registry{env: kernel}
			for line := range strings.Lines(string(listing)) {
				if err := r.write("dynamic_events", strings.TrimSuffix(line, "\n")); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range r.defs {
				format, err := os.ReadFile(filepath.Join(dir, "events", d.Group, d.Event, "format"))
				if err != nil {
					continue // not kept
				}
				typ, err := event.ParseFormat(d.Group, format)
				if err != nil {
					t.Fatal(err)
				}
				probes[typ.ID] = capturedProbe{d, typ}
			}
			n := 0
			for _, cpu := range []string{"cpu0.raw", "cpu1.raw"} {
				n += checkPages(t, filepath.Base(capture), filepath.Join(dir, cpu), probes)
			}
			if n < 20 {
				t.Errorf("%d records", n)
			}
		})
	}
}

type capturedProbe struct {
	def *probe.Definition
	typ *event.Type
}

// checkPages encodes the records of a file of pages anew and says how many there were.
func checkPages(t *testing.T, capture, name string, probes map[int]capturedProbe) (n int) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(raw) >= 4096; raw = raw[4096:] {
		page, err := ringbuf.ReadPageImage(raw[:4096])
		if err != nil {
			t.Fatal(err)
		}
		for {
			_, data, ok := page.NextData()
			if !ok {
				break
			}
			p, ok := probes[int(event.ParseCommon(data).Type)]
			if !ok {
				continue
			}
			n++
			r, m := record{p.typ, data}, &machine{}
			memoryOf[capture+"/"+p.def.Event](r, m)
			hit := probe.Hit{}
			if p.def.Return {
				hit.IP, hit.RetIP = r.num("__probe_func"), r.num("__probe_ret_ip")
			} else if p.def.Kind != probe.Eprobe {
				hit.IP = r.num("__probe_ip")
			}
			got := p.def.Append(nil, event.ParseCommon(data), hit, m)
			if !bytes.HasPrefix(data, got) || len(data)-len(got) > 3 {
				t.Fatalf("%s:\n%x, want\n%x", p.def.Show(), got, data)
			}
		}
	}
	return n
}
