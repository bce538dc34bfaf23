package filter_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/filter"
)

// kernelTypes are the events of Debian's Linux 6.12, in their order.
var kernelTypes = sync.OnceValues(func() (*event.Table, error) {
	packed, err := os.ReadFile(filepath.Join("..", "testdata", "formats.txt.gz"))
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	table := new(event.Table)
	for part := range strings.SplitSeq("\n"+string(all), "\n==== events/") {
		head, text, ok := strings.Cut(part, "\n")
		if !ok || text == "" {
			continue
		}
		system, _, _ := strings.Cut(head, "/")
		t, err := event.ParseFormat(system, []byte(strings.TrimSuffix(text, "\n")+"\n"))
		if err != nil {
			return nil, err
		}
		if err := table.Add(t); err != nil {
			return nil, err
		}
	}
	return table, nil
})

func kernelType(tb testing.TB, system, name string) *event.Type {
	tb.Helper()
	table, err := kernelTypes()
	if err != nil {
		tb.Fatal(err)
	}
	t := table.ByName(system, name)
	if t == nil {
		tb.Fatalf("no event %s/%s", system, name)
	}
	return t
}

// kallsyms is a table of two functions of 256 bytes.
type kallsyms map[string]uint64

var symbols = kallsyms{"hrtimer_wakeup": 0xffffffff81101000, "vfs_read": 0xffffffff81201000}

func (k kallsyms) Address(name string) (uint64, bool) {
	addr, ok := k[name]
	return addr, ok
}

func (k kallsyms) Lookup(addr uint64) (name, module string, offset, size uint64, ok bool) {
	for name, begin := range k {
		if addr-begin < 256 {
			return name, "", addr - begin, 256, true
		}
	}
	return "", "", 0, 0, false
}

// testEnv is a machine of 12 CPUs.
func testEnv() filter.Env {
	return filter.Env{CPUs: 12, Symbols: symbols, Strings: func(addr uint64) (string, bool) {
		return "kernel text", addr == 0xffffffff82000000
	}}
}

func parse(tb testing.TB, t *event.Type, text string) *filter.Filter {
	tb.Helper()
	f, err := filter.Parse(t, text, testEnv())
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return f
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// record makes a record with the given values of its fields: integers go into
// the field, texts too, or behind the record if the field is dynamic.
func record(tb fataler, t *event.Type, values map[string]any) []byte {
	tb.Helper()
	data := make([]byte, t.Size)
	for i := range t.Fields {
		f := &t.Fields[i]
		v, ok := values[f.Name]
		if !ok {
			continue
		}
		delete(values, f.Name)
		switch v := v.(type) {
		case int:
			put(data[f.Offset:f.Offset+f.Size], uint64(v))
		case uint64:
			put(data[f.Offset:f.Offset+f.Size], v)
		case string:
			if f.Dynamic() {
				offset := len(data)
				if strings.HasPrefix(f.Decl, "__rel_loc") {
					offset -= f.Offset + 4
				}
				put(data[f.Offset:f.Offset+4], uint64(len(v))<<16|uint64(offset))
				data = append(data, v...)
				continue
			}
			copy(data[f.Offset:f.Offset+f.Size], v)
		}
	}
	for name := range values {
		tb.Fatalf("%s has no field %s", t, name)
	}
	return data
}

func put(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}
