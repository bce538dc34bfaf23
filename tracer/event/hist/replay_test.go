package hist

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

func oracleFile(t *testing.T, name string) string {
	t.Helper()
	root := testutil.Oracle(t)
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What onmax kept of each task shows as a kernel showed it.
func TestOnmaxAsKernel(t *testing.T) {
	const dir = "debian/dynamic_hist_misc/hist/"
	want := oracleFile(t, dir+"onmax.hist")
	l := newLab(t)
	l.must(events.SchedWaking.Type, "hist:keys=pid:p=prio:onmax($p).save(comm,target_cpu)")
	if got, want := l.lines(events.SchedWaking.Type), oracleFile(t, dir+"onmax.trigger"); got != want {
		t.Errorf("the trigger is\n%swant\n%s", got, want)
	}
	entry := regexp.MustCompile(`\{ pid: +(\d+) \} hitcount: +(\d+)\n\tmax: +(\d+)  comm: (\S+) +target_cpu: +(\d+)\n`)
	for _, e := range entry.FindAllStringSubmatch(want, -1) {
		for range number(t, e[2]) {
			l.happen(events.SchedWaking.Type, 1, events.SchedWaking.Append(nil, event.Common{}, &events.SchedWakeupRecord{
				Comm: comm(e[4]), PID: int32(number(t, e[1])), Prio: int32(number(t, e[3])), TargetCPU: int32(number(t, e[5])),
			}))
		}
	}
	if got := string(l.i.File(events.SchedWaking.Type).Show()); got != want {
		t.Error(firstDifference(got, want))
	}
}

// The latencies that a kernel recorded, made of wakeups and switches again, give
// the same synthetic events and the histograms of all three events.
func TestOnmatchAsKernel(t *testing.T) {
	const dir = "full/dynamic_hist_misc/synthetic/"
	trace := oracleFile(t, dir+"trace.txt")
	l := newLab(t)
	wakeupLat, err := event.ParseFormat("synthetic", []byte(oracleFile(t, dir+"events/synthetic/wakeup_lat/format")))
	if err != nil {
		t.Fatal(err)
	}
	l.types = append(l.types, wakeupLat)
	l.define("wakeup_lat", u64Field, pidField, commField)
	l.must(events.SchedWaking.Type, `hist:keys=pid:ts0=common_timestamp.usecs if comm=="wl"`)
	l.must(events.SchedSwitch.Type, "hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup_lat($lat,next_pid,next_comm)")
	l.must(wakeupLat, "hist:keys=pid,lat.log2:sort=pid,lat")

	line := regexp.MustCompile(`(?m) +(\d+)\.(\d{6}): wakeup_lat: lat=(\d+) pid=(\d+) comm=(\S+)$`)
	found := line.FindAllStringSubmatch(trace, -1)
	for _, m := range found {
		us, lat, pid := number(t, m[1])*1e6+number(t, m[2]), number(t, m[3]), int32(number(t, m[4]))
		l.waking(us-lat, pid, 120, m[5])
		l.switching(us, pid, 120, m[5])
		data := make([]byte, wakeupLat.Size)
		binary.LittleEndian.PutUint64(data[8:], lat)
		binary.LittleEndian.PutUint32(data[16:], uint32(pid))
		copy(data[24:], m[5])
		l.happen(wakeupLat, us, data)
		if want := fmt.Sprintf("wakeup_lat %d %d %q", lat, pid, m[5]); len(l.generated) != 1 || l.generated[0] != want {
			t.Fatalf("generated %q, want %q", l.generated, want)
		}
		l.generated = nil
	}
	if len(found) != 218 {
		t.Errorf("%d synthetic events in the trace", len(found))
	}
	first, _, _ := strings.Cut(oracleFile(t, dir+"hist.sched_switch"), "\n\n\n")
	if got, want := string(l.i.File(events.SchedSwitch.Type).Show()), first+"\n"; got != want {
		t.Error(firstDifference(got, want))
	}
	if got, want := string(l.i.File(wakeupLat).Show()), oracleFile(t, dir+"hist.wakeup_lat"); got != want {
		t.Error(firstDifference(got, want))
	}
	// One more wakeup than switches: pid 431's last.
	l.waking(1, 431, 120, "wl")
	if got, want := string(l.i.File(events.SchedWaking.Type).Show()), oracleFile(t, dir+"hist.sched_waking"); got != want {
		t.Error(firstDifference(got, want))
	}
}

// The commands that a kernel refused while histograms were captured.
func TestRefusedAsKernel(t *testing.T) {
	const dir = "debian/dynamic_hist_misc/hist/"
	readme := oracleFile(t, dir+"README")
	refused := regexp.MustCompile(`(?m)^(\w+): echo '(hist:.*)' > events/(\w+)/\w+/trigger;.*\n.*write error: (.*)\n  REJECTED\n((?:\[.*\n  Command: .*\n +\^\n)+)`)
	all := refused.FindAllStringSubmatch(readme, -1)
	for _, c := range all {
		l := newLab(t)
		typ, err := event.ParseFormat(c[3], []byte(oracleFile(t, dir+c[1]+".format")))
		if err != nil {
			t.Fatal(err)
		}
		err = l.write(typ, c[2])
		if err == nil || !strings.HasSuffix(strings.ToLower(err.Error()), strings.ToLower(c[4])) {
			t.Errorf("%s: %v, want %s", c[2], err, c[4])
		}
		want := regexp.MustCompile(`(?m)^\[.*\]`).ReplaceAllString(c[5], "[TIME]")
		if got := strings.Join(l.log, ""); got != want {
			t.Errorf("error_log has\n%swant\n%s", got, want)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d refused commands, want 4", len(all))
	}
}
