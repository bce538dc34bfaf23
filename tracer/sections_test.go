package tracer_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer"
)

// realPlaces gives the functions that the oracle's capture of all events names for each of
// the events irq_disable, irq_enable, preempt_disable and preempt_enable.
func realPlaces(t *testing.T) map[string]bool {
	places := map[string]bool{}
	for _, p := range switchings(oracle(t, "full/events/ev_all/trace.txt.gz")) {
		places[p.String()] = true
	}
	return places
}

// switching is an event of the preemptirq system: what is switched, and where.
type switching struct{ cpu, event, caller, parent string }

func (s switching) String() string { return s.event + " " + s.caller }

var switchingLine = regexp.MustCompile(`\[(\d+)\] \S+ +[\d.]+: ((?:irq|preempt)_(?:disable|enable)): caller=(\S+)\+0x\S+(?: \[\w+])? parent=([^\s+]+)`)

func switchings(text string) (all []switching) {
	for _, m := range switchingLine.FindAllStringSubmatch(text, -1) {
		all = append(all, switching{m[1], m[2], m[3], m[4]})
	}
	return all
}

// elsewhere are places that the capture does not have, because its kernel is configured
// otherwise (no memory cgroups, no offloaded RCU callbacks, other inlining), or because
// nothing happened there (no file system of 9p).
var elsewhere = regexp.MustCompile(`count_memcg|lruvec_stat|__call_rcu_common|nocb|rcu_do_batch|cgroup|_raw_spin_rq_lock_irqsave|account_kernel_stack|mod_|` +
	`text_poke|p9_client_rpc|smpboot_thread_fn|worker_thread|do_nanosleep|schedule_tail|handle_softirqs|irqentry_exit_to_user_mode`)

// Interrupts and preemption are switched where a real kernel does it: at least 95 of 100
// events name a function that a capture names for the same event.
func TestPlacesOfSections(t *testing.T) {
	real := realPlaces(t)
	if len(real) < 100 {
		t.Fatalf("%d places in the capture", len(real))
	}
	for seed := uint64(1); seed <= 3; seed++ {
		l := newLabOn(t, machine.Config{Seed: seed, CPUs: 2}, tracer.Config{BufferSizeKB: 20000})
		l.write("events/preemptirq/enable", "1")
		l.ft.Run(machine.Second)
		l.write("tracing_on", "0")
		seen, unknown := 0, map[string]int{}
		strange := 0
		last := map[string]string{} // by CPU and what is switched
		for _, s := range switchings(l.read("trace")) {
			seen++
			if !real[s.String()] && !elsewhere.MatchString(s.caller) {
				unknown[s.String()]++
				strange++
			}
			what, how, _ := strings.Cut(s.event, "_")
			if key := s.cpu + what; last[key] == how {
				t.Fatalf("seed %d: %s twice on CPU %s", seed, s, s.cpu)
			} else {
				last[key] = how
			}
		}
		if seen < 10000 || strange*20 > seen {
			t.Errorf("seed %d: %d of %d events at places that no capture has: %v", seed, strange, seen, unknown)
		}
	}
}

// sectionOf is the longest section that a latency tracer has found: its length in µs, and
// where it began and ended.
var sectionOf = regexp.MustCompile(`(?s)latency: (\d+) us,.*started at: (\S+)\n.*ended at:   (\S+)\n`)

// The latency tracers have another result on each run: its length and its place depend on
// the seed and on the scenario, and the longer one looks, the longer the longest becomes.
func TestSectionsDiffer(t *testing.T) {
	for _, name := range []string{"irqsoff", "preemptoff", "preemptirqsoff"} {
		lengths, places := map[int]bool{}, map[string]bool{}
		grown := 0
		for seed := uint64(1); seed <= 6; seed++ {
			l := newLabOn(t, machine.Config{Seed: seed}, tracer.Config{})
			l.write("options/function-trace", "0")
			l.write("current_tracer", name)
			first := 0
			for n := range 6 {
				l.ft.Run(100 * machine.Millisecond)
				longest, err := strconv.Atoi(strings.TrimSpace(l.read("tracing_max_latency")))
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					first = longest
				} else if longest > first && n == 5 {
					grown++
				}
			}
			m := sectionOf.FindStringSubmatch(l.read("trace"))
			if m == nil {
				t.Fatalf("seed %d: %s:\n%s", seed, name, l.read("trace"))
			}
			us, _ := strconv.Atoi(m[1])
			lengths[us], places[fmt.Sprint(m[2:])] = true, true
			if us < 20 || us > 10000 {
				t.Errorf("seed %d: %s has found %d us", seed, name, us)
			}
		}
		t.Logf("%s: %v, %v", name, lengths, places)
		if len(lengths) < 5 || len(places) < 2 || grown < 3 {
			t.Errorf("%s: over 6 seeds: lengths %v, places %v, %d of 6 have grown", name, lengths, places, grown)
		}
	}
}
