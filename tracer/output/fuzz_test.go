package output_test

import (
	"testing"

	"ftracelab/fgraph"
	"ftracelab/ringbuf"
	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// records is a Reader of records in memory.
type records struct {
	list []output.Entry
}

func (r *records) Peek() (output.Entry, bool) {
	if len(r.list) == 0 {
		return output.Entry{}, false
	}
	return r.list[0], true
}

func (r *records) Next() (output.Entry, bool) {
	e, ok := r.Peek()
	if ok {
		r.list = r.list[1:]
	}
	return e, ok
}

// split cuts data into records: a length byte, then so many bytes.
func split(data []byte, cpu int) *records {
	r := &records{}
	for t := uint64(0); len(data) > 0; t += 1500 {
		n := min(int(data[0]), len(data)-1)
		r.list = append(r.list, output.Entry{CPU: cpu, Time: t, Data: data[1 : 1+n], Lost: t % 4000 / 3000})
		data = data[1+n:]
	}
	return r
}

// FuzzPrinter prints arbitrary records of a kernel's event types in all forms:
// it may not panic, nor make of an entry more than the kernel would.
func FuzzPrinter(f *testing.F) {
	c := selected(f, "graph_events_marker")
	for _, id := range []byte{1, 2, 4, 5, 6, 10, 11, 12, 13, 14, 17, 18, 19, 99} {
		seed := make([]byte, 61)
		seed[0], seed[1] = 60, id
		for i := 9; i < len(seed); i++ {
			seed[i] = byte(i * 37)
		}
		f.Add(uint32(output.DefaultOptions), uint32(fgraph.DefaultOptions), id%2 == 0, append(seed, seed...))
	}
	f.Fuzz(func(t *testing.T, options, graph uint32, isGraph bool, data []byte) {
		cfg := output.Config{
			Tracer: "nop", Options: output.Options(options), Graph: fgraph.Options(graph),
			Types: c.cfg.Types, Symbols: c.cfg.Symbols, CPUs: 2, Overrun: options%3 == 0, CounterClock: options%5 == 0,
			String: func(addr uint64) (string, bool) {
				return "%s %d %-*.*lx %pS %c %5u%%\n", addr%2 == 0
			},
		}
		if isGraph {
			cfg.Tracer = "function_graph"
		}
		p, err := output.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m := output.NewMerge(split(data, 0), split(data, int(options)))
		buf := p.AppendHeader(nil, m, output.Counts{})
		for more := true; more; {
			if buf, more = p.AppendNext(buf[:0], m); len(buf) > 1<<14 {
				t.Fatalf("%d bytes for one entry", len(buf))
			}
		}
	})
}

func TestLost(t *testing.T) {
	types, err := event.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := output.New(output.Config{Types: types, Options: output.DefaultOptions &^ output.ContextInfo})
	if err != nil {
		t.Fatal(err)
	}
	data := []byte{99, 0, 0, 0, 1, 0, 0, 0}
	m := output.NewMerge(
		&records{[]output.Entry{{CPU: 0, Time: 5, Data: data}, {CPU: 0, Time: 7, Data: data, Lost: 3}}},
		&records{[]output.Entry{{CPU: 1, Time: 5, Data: data, Lost: ^uint64(0)}}},
	)
	var got []byte
	for more := true; more; {
		got, more = p.AppendNext(got, m)
	}
	want := "Unknown type 99\nCPU:1 [LOST EVENTS]\nUnknown type 99\nCPU:0 [LOST 3 EVENTS]\nUnknown type 99\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestConsumer reads a live buffer as trace_pipe does.
func TestConsumer(t *testing.T) {
	now := uint64(0)
	b, err := ringbuf.New(ringbuf.Config{CPUs: 2, Clock: func(int) uint64 { now += 1000; return now }})
	if err != nil {
		t.Fatal(err)
	}
	write := func(cpu int, id byte) {
		t.Helper()
		e, err := b.Reserve(cpu, ringbuf.Normal, 8)
		if err != nil {
			t.Fatal(err)
		}
		copy(e.Data, []byte{id, 0, 0, 0, 1, 0, 0, 0})
		b.Commit(cpu, e)
	}
	types, _ := event.NewTable()
	p, err := output.New(output.Config{Types: types})
	if err != nil {
		t.Fatal(err)
	}
	m := output.NewLiveMerge(output.Consumer(b, 0), output.Consumer(b, 1))
	write(1, 91)
	write(0, 92)
	got, more := p.AppendNext(nil, m)
	write(1, 93)
	for more {
		got, more = p.AppendNext(got, m)
	}
	write(0, 94)
	got, _ = p.AppendNext(got, m)
	if want := "Unknown type 91\nUnknown type 92\nUnknown type 93\nUnknown type 94\n"; string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// printAll prints a capture once into a buffer that is reused.
func (s *inMemory) printAll(b testing.TB, buf []byte) (entries int) {
	p, err := output.New(s.cfg)
	if err != nil {
		b.Fatal(err)
	}
	m := output.NewMerge(s.readers()...)
	for more := true; more; entries++ {
		buf, more = p.AppendNext(buf[:0], m)
	}
	return entries - 1
}

// TestNoAllocs prints all records of a capture a second time, when all names
// are known, and allows nothing to be allocated per line.
func TestNoAllocs(t *testing.T) {
	for _, name := range []string{"fn_func_stack", "graph_events_marker"} {
		c := selected(t, name)
		p, err := output.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 0, 1<<14)
		list, all := &records{}, c.all()
		again := output.NewLiveMerge(list)
		n := testing.AllocsPerRun(3, func() {
			list.list = all
			for more := true; more; {
				buf, more = p.AppendNext(buf[:0], again)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations for %d records", name, n, len(all))
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	for _, name := range []string{"fn_func_stack", "graph_retval", "graph_events_marker", "ev_sched"} {
		c := selected(b, name)
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 1<<14)
			var n int
			b.ReportAllocs()
			for b.Loop() {
				n = c.printAll(b, buf)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}

// BenchmarkFunction prints function entries only: decode, merge of 8 CPUs, text.
func BenchmarkFunction(b *testing.B) {
	c := selected(b, "fn_func_stack")
	const cpus, perCPU = 8, 1000
	readers := make([]*records, cpus)
	all := make([][]output.Entry, cpus)
	var merged []output.Reader
	for cpu := range readers {
		for i := range perCPU {
			data := make([]byte, 24)
			data[0], data[4] = 1, 61
			for j := range 8 {
				data[8+j] = byte(uint64(0xffffffff81000000+4096*uint64(i)) >> (8 * j))
				data[16+j] = byte(uint64(0xffffffff81200000+512*uint64(i)) >> (8 * j))
			}
			all[cpu] = append(all[cpu], output.Entry{CPU: cpu, Time: uint64(i*1000 + cpu), Data: data})
		}
		readers[cpu] = &records{}
		merged = append(merged, readers[cpu])
	}
	p, err := output.New(c.cfg)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 1<<14)
	b.ReportAllocs()
	for b.Loop() {
		for cpu := range readers {
			readers[cpu].list = all[cpu]
		}
		m := output.NewMerge(merged...)
		for more := true; more; {
			buf, more = p.AppendNext(buf[:0], m)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(cpus*perCPU), "ns/entry")
}
