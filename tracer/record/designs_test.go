package record_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ftracelab/ringbuf"
	"ftracelab/stackmap"
	"ftracelab/tracer/event"
	"ftracelab/tracer/record"
	"ftracelab/tracer/record/stackcode"
)

func TestParseDesigns(t *testing.T) {
	ds, err := record.ParseDesigns("full-stacks,stackmap:bits=12,probes=8,hash=xxhash64,depth=32,truncate=yes,stackmap+user:bits=11,user.bits=15,seed=0x10", 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range ds {
		names = append(names, d.Name)
	}
	want := []string{"full-stacks", "stackmap:bits=12,probes=8,hash=xxhash64,depth=32,truncate=yes", "stackmap+user:bits=11,user.bits=15,seed=0x10"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if m := ds[1].KernelMap; m.Bits != 12 || m.Probes != 8 || m.Hash != stackmap.XXHash64 || m.MaxDepth != 32 || !m.TruncateDeep || m.Seed != 7 {
		t.Errorf("%+v", m)
	}
	if k, u := ds[2].KernelMap, ds[2].UserMap; k.Bits != 11 || u.Bits != 15 || k.Seed != 16 || u.Seed != 7 {
		t.Errorf("%+v %+v", k, u)
	}
	for spec, want := range map[string]string{
		"":                           `no design ""; there are full-stacks, stackmap`,
		"half-stacks":                `no design "half-stacks"; there are full-stacks, stackmap`,
		"stackmap:bits":              `"bits": want KEY=VALUE`,
		"stackmap:bits=9":            "bits=9: want 10 to 18",
		"stackmap:bits=-1":           "bits=-1: want 10 to 18",
		"stackmap:hash=md5":          "hash=md5: want jhash2, xxhash64, xxh3 or mul64",
		"stackmap:pool=deep":         "pool=deep: want eager, lazy or packed",
		"stackmap:truncate=1":        "truncate=1: want yes or no",
		"stackmap:depth=1025":        "depth=1025: want 1 to 1024",
		"stackmap:colour=red":        `no field "colour"; there are bits, probes, hash, depth, pool, truncate, saturate, per-instance, reserve-first, seed`,
		"full-stacks:bits=12":        "it has no map of kernel stacks to have bits",
		"stackmap:user.bits=12":      "it has no map of user stacks to have user.bits",
		"coded:bits=12":              "it has no map of kernel stacks to have bits; there is code",
		"coded:user.bits=12":         "it has no map of user stacks to have user.bits",
		"coded:code=suffix":          "code=suffix: want prefix or delta",
		"stackmap:code=prefix":       `no field "code"`,
		"bits=12":                    `no design "bits=12"`,
		"stackmap:seed=99999999999":  "seed=99999999999: want 0 to 4294967295",
		"stackmap:bits=10,probes=0x": "probes=0x: want 1 to 2048",
	} {
		if _, err := record.ParseDesigns(spec, 0, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", spec, err, want)
		}
	}
	for spec, want := range map[string]stackcode.Code{"coded": stackcode.Delta, "coded:code=delta": stackcode.Delta, "coded:code=prefix": stackcode.Prefix} {
		if d, err := record.ParseDesign(spec, 0, 0); err != nil || d.Kernel != record.CodedStack || d.Code != want {
			t.Errorf("%s: %+v, %v", spec, d, err)
		}
	}
	for want, d := range map[string]record.Design{
		"kernel stacks cannot be deferred": {Kernel: record.DeferredStack},
		"no such mode of kernel stacks: 5": {Kernel: record.CodedStack + 1},
		"user stacks cannot be coded":      {User: record.CodedStack},
		"no such code: code(2)":            {Kernel: record.CodedStack, Code: stackcode.Delta + 1},
	} {
		d.Name = "d"
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want …%s…", d, err, want)
		}
	}
	if c, err := record.ParseMap("v4:bits=12,reserve-first=no,per-instance=yes"); err != nil || c.Preset != "v4" || c.Bits != 12 || c.ReserveFirst || !c.TopLevelOnly || !c.PerInstance {
		t.Errorf("%+v, %v", c, err)
	}
	for spec, want := range map[string]string{"v3": "there are documented, v2, v4", "v4:bits=x": "map v4:bits=x: bits=x", "coded": "there are documented, v2, v4"} {
		if _, err := record.ParseMap(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want …%s…", spec, err, want)
		}
	}
}

// FuzzParseDesigns: no text makes the parser panic, and what it takes opens.
func FuzzParseDesigns(f *testing.F) {
	for _, spec := range []string{
		"full-stacks,stackmap:bits=12,probes=8", "stackmap+user:user.hash=xxhash64", ":", ",", "stackmap:=", "a=b,stackmap",
		"two-way:probes=3,aging:bits=18,probes=2048,pool=packed", "coded:code=prefix,coded:code=delta,code=x", "bpf:depth=1,robin-hood:probes=1,per-cpu:pool=lazy",
	} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		ds, err := record.ParseDesigns(spec, 10, 0)
		if err != nil || len(ds) > 8 {
			return
		}
		for _, d := range ds {
			if _, err := record.NewStacks(d, record.CatalogueIDs()); err != nil {
				t.Errorf("%q was taken: %v", d.Name, err)
			}
		}
	})
}

// written is what a design makes of a trace that fills the map, in all forms.
func written(t *testing.T, c record.MapConfig) string {
	t.Helper()
	var m *stackmap.Map
	open := c
	c.New = func(record.MapConfig) (record.Interner, error) {
		in, err := open.Open()
		if err == nil {
			m = in.(record.Stackmap).Map
		}
		return in, err
	}
	now := uint64(0)
	buf, err := ringbuf.New(ringbuf.Config{CPUs: 1, Size: 8 << 20, Clock: func(int) uint64 { now += 100; return now }})
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := record.NewStacks(record.Design{Name: "d", Kernel: record.StackID, KernelMap: c}, record.CatalogueIDs())
	if err != nil {
		t.Fatal(err)
	}
	stacks.ShareKernelMap(record.Stackmap{Map: m}, open) // without New the policy is the map's
	r := record.NewRecorder(buf, stacks)
	for n := range 3000 {
		s := record.Stack{Common: event.Common{PID: 1}, IPs: []uint64{0x7fffffff}}
		for depth := range n % 90 {
			s.IPs = append(s.IPs, uint64(n)<<8+uint64(depth))
		}
		if _, err := r.WriteKernelStack(0, ringbuf.Normal, &s); err != nil {
			t.Fatal(err)
		}
	}
	var all bytes.Buffer
	page := make([]byte, buf.SubbufSize())
	for buf.ReadPage(0, page, false) {
		all.Write(page)
	}
	if err := m.WriteText(&all, nil); err != nil {
		t.Fatal(err)
	}
	all.Write(m.AppendStat(m.AppendBinary(nil)))
	return all.String()
}

// TestEveryFieldActs sets each field of a map's configuration and sees that what is
// written is another, so that none is read as "nothing was given".
func TestEveryFieldActs(t *testing.T) {
	plain := written(t, record.MapConfig{})
	act := map[string]func(*record.MapConfig){
		"Bits":           func(c *record.MapConfig) { c.Bits = 10 },
		"Seed":           func(c *record.MapConfig) { c.Seed = 5 },
		"Hash":           func(c *record.MapConfig) { c.Hash = stackmap.XXHash64 },
		"Probes":         func(c *record.MapConfig) { c.Probes = 1 },
		"MaxDepth":       func(c *record.MapConfig) { c.MaxDepth = 80 },
		"TruncateDeep":   func(c *record.MapConfig) { c.TruncateDeep = true },
		"TrampolineText": func(c *record.MapConfig) { c.TrampolineText = "here" },
		"ABI":            func(c *record.MapConfig) { c.ABI = stackmap.ABIv4 },
	}
	silent := map[string]func(*record.MapConfig){
		// A name for display decides nothing.
		"Preset": func(c *record.MapConfig) { c.Preset = "v4" },
		// Shows after 2^31 events; stackmap's own tests get there.
		"SaturateRefs": func(c *record.MapConfig) { c.SaturateRefs = true },
		// Shows in what the map costs; see TestPools.
		"Pool": func(c *record.MapConfig) { c.Pool = stackmap.LazyPool },
	}
	for f := range reflect.TypeFor[stackmap.Config]().Fields() {
		var c record.MapConfig
		set, acts := act[f.Name]
		if !acts {
			set = silent[f.Name]
		}
		if set == nil {
			t.Errorf("no row for the field %s", f.Name)
			continue
		}
		set(&c)
		if c.IsZero() {
			t.Errorf("%s is set and counts as nothing", f.Name)
		}
		if differs := written(t, c) != plain; differs != acts {
			t.Errorf("%s: what is written differs: %v", f.Name, differs)
		}
	}
	small := record.MapConfig{Config: stackmap.Config{Bits: 10}}
	first := small
	first.ReserveFirst = true
	if written(t, small) == written(t, first) {
		t.Error("ReserveFirst: what a full map refuses left no gap")
	}
}
