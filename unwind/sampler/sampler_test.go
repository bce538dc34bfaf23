package sampler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"ftracelab/capture"
	"ftracelab/machine"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/record"
	"ftracelab/unwind"
	"ftracelab/unwind/cookie"
	"ftracelab/workload"
)

// sample runs the standard scenario.
func sample(t *testing.T, seed uint64, cfg unwind.Config, d, period machine.Time) (*Sampler, []Record) {
	t.Helper()
	m, err := machine.New(machine.Config{CPUs: 3, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	sc, err := workload.Find("")
	if err != nil {
		t.Fatal(err)
	}
	if err := sc.Start(m); err != nil {
		t.Fatal(err)
	}
	s, err := New(m, Config{Unwind: cfg, Period: period})
	if err != nil {
		t.Fatal(err)
	}
	var all []Record
	for range d / machine.Millisecond {
		all = append(all, s.Run(machine.Millisecond)...)
	}
	return s, all
}

// Of the samples of a stay each has the cookie, and its stack comes once, behind them and
// for the same task. Only stays that have not ended are without.
func TestSamples(t *testing.T) {
	most, withKernel, inUser, stacks := 0, 0, 0, 0
	for seed := range uint64(5) {
		_, all := sample(t, seed+1, unwind.Config{}, 40*machine.Millisecond, 20*machine.Microsecond)
		type stay struct{ tid, samples, stacks int }
		stays := map[cookie.ID]*stay{}
		var last machine.Time
		for _, r := range all {
			if r.Time < last {
				t.Fatalf("seed %d: time %d after %d", seed, r.Time, last)
			}
			last = r.Time
			if r.Cookie == 0 {
				continue
			}
			st := stays[r.Cookie]
			if st == nil {
				st = &stay{tid: r.TID}
				stays[r.Cookie] = st
			}
			switch {
			case st.tid != r.TID:
				t.Fatalf("seed %d: cookie %x of tasks %d and %d", seed, r.Cookie, st.tid, r.TID)
			case st.stacks > 0:
				t.Fatalf("seed %d: cookie %x after its stack", seed, r.Cookie)
			case r.Deferred && st.samples == 0:
				t.Fatalf("seed %d: a stack for cookie %x, which no sample has", seed, r.Cookie)
			case r.Deferred:
				st.stacks++
				stacks++
			default:
				st.samples++
				most = max(most, st.samples)
				if len(r.IPs) > 0 {
					withKernel++
				} else {
					inUser++
				}
			}
		}
		waiting := map[int]int{}
		for _, st := range stays {
			if st.stacks == 0 {
				waiting[st.tid]++
			}
		}
		for tid, n := range waiting {
			if n > 1 {
				t.Errorf("seed %d: %d stays of task %d have no stack", seed, n, tid)
			}
		}
	}
	t.Logf("%d stacks, %d samples in the kernel, %d in user space, up to %d of one stay", stacks, withKernel, inUser, most)
	if most < 3 || withKernel < 100 || inUser < 100 {
		t.Errorf("at most %d samples in a stay, %d samples in the kernel, %d in user space", most, withKernel, inUser)
	}
}

// Where an NMI cannot ask there are samples, and none has a cookie.
func TestNoNMI(t *testing.T) {
	s, all := sample(t, 1, unwind.Config{NoNMI: true}, 10*machine.Millisecond, 50*machine.Microsecond)
	if len(all) == 0 || s.Refused != uint64(len(all)) {
		t.Errorf("%d of %d samples are refused", s.Refused, len(all))
	}
	for _, r := range all {
		if r.Cookie != 0 || r.Deferred {
			t.Fatalf("%+v", r)
		}
	}
}

// What is written is what capture reads: tasks, CPUs, times, cookies, user stacks, and
// kernel stacks by name.
func TestRoundTrip(t *testing.T) {
	s, all := sample(t, 7, unwind.Config{}, 30*machine.Millisecond, 30*machine.Microsecond)
	var text bytes.Buffer
	w := NewText(&text, s)
	var want []string
	for i := range all {
		r := &all[i]
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("%d [%d] %d", r.TID, r.CPU, r.Time/1000*1000)
		if r.Deferred {
			want = append(want, fmt.Sprintf("%s stack %x %x", head, uint64(r.Cookie), r.IPs))
			continue
		}
		want = append(want, head+" "+r.Comm)
		if len(r.IPs) > 0 {
			var names []string
			for _, ip := range r.IPs {
				name, _, off, _, _ := s.m.Kallsyms().Lookup(ip)
				names = append(names, fmt.Sprintf("%s+0x%x", name, off))
			}
			want = append(want, head+" kernel "+strings.Join(names, " "))
		}
		if r.Cookie != 0 {
			want = append(want, fmt.Sprintf("%s cookie %x", head, uint64(r.Cookie)))
		}
	}
	c, err := capture.OpenReader(&text, "x.txt", capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	var r record.Record
	for {
		if err := c.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("%d [%d] %d", r.Common.PID, r.CPU, r.Time)
		switch {
		case r.Kind == record.KernelStack:
			var names []string
			for _, ip := range r.Stack {
				names = append(names, c.Symbol(ip))
			}
			got = append(got, head+" kernel "+strings.Join(names, " "))
		case r.Type.Name == "user_unwind_cookie":
			got = append(got, fmt.Sprintf("%s cookie %x", head, r.Type.Field("cookie").Uint(r.Data)))
		case r.Type.Name == "user_unwind_stack":
			var rec events.UserUnwindStackRecord
			if err := events.UserUnwindStack.Decode(r.Data, &rec); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s stack %x %x", head, rec.Cookie, rec.Stack))
		default:
			got = append(got, head+" "+c.Comm(r.Common.PID))
		}
	}
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			t.Fatalf("record %d of %d: read %q, written %q", i, len(want), slices.Concat(got, []string{"nothing"})[min(i, len(got))], line)
		}
	}
	if len(got) != len(want) || len(want) < 1000 {
		t.Errorf("%d records read, %d written", len(got), len(want))
	}
}

// A period of no time is refused.
func TestPeriod(t *testing.T) {
	m, err := machine.New(machine.Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(m, Config{Period: MinPeriod - 1}); err == nil {
		t.Error("no error")
	}
}
