package tracer_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer"
	"ftracelab/tracer/record"
)

// perInstance is a kernel whose instances have maps, with instances a and b.
func perInstance(t *testing.T, spec string) *lab {
	t.Helper()
	cfg, err := record.ParseMap(spec)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, tracer.Config{Stackmap: cfg, BufferSizeKB: 4000})
	for _, name := range []string{"a", "b"} {
		if err := l.fs.Mkdir("instances/" + name); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// entries is the number of stacks in the map of a folder.
func (l *lab) entries(dir string) (n int) {
	l.t.Helper()
	if _, err := fmt.Sscanf(l.read(dir+"stack_map_stat"), "entries: %d", &n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

var (
	stackID  = regexp.MustCompile(`<stack_id (\d+)>`)
	mappedID = regexp.MustCompile(`(?m)^stack_id (\d+) `)
)

// TestMapPerInstance: each instance records ids into a map of its own, whatever the preset
// says of the option; its files show that map and its reset empties no other.
func TestMapPerInstance(t *testing.T) {
	for version := range presets() {
		l := perInstance(t, version+":bits=12,per-instance=yes")
		for dir, event := range map[string]string{"instances/a/": "sched:sched_switch", "instances/b/": "kmem:kmem_cache_alloc"} {
			l.write(dir+"options/stackmap", "1")
			l.write(dir+"options/stacktrace", "1")
			l.write(dir+"set_event", event)
		}
		l.ft.Run(20 * machine.Millisecond)
		for _, dir := range []string{"instances/a/", "instances/b/"} {
			l.write(dir+"tracing_on", "0")
			mapped := map[string]bool{}
			for _, m := range mappedID.FindAllStringSubmatch(l.read(dir+"stack_map"), -1) {
				mapped[m[1]] = true
			}
			if len(mapped) == 0 || len(mapped) != l.entries(dir) {
				t.Errorf("%s: stack_map of %s has %d stacks, stack_map_stat %d", version, dir, len(mapped), l.entries(dir))
			}
			seen := map[string]bool{}
			for _, m := range stackID.FindAllStringSubmatch(l.read(dir+"trace"), -1) {
				seen[m[1]] = true
				if !mapped[m[1]] {
					t.Errorf("%s: id %s of %strace is not in its map", version, m[1], dir)
				}
			}
			if len(seen) != len(mapped) {
				t.Errorf("%s: %d ids in %strace, %d in the map", version, len(seen), dir, len(mapped))
			}
			if _, full := stacks(l.read(dir + "trace")); full != 0 {
				t.Errorf("%s: %d full stacks in %s", version, full, dir)
			}
		}
		if l.entries("") != 0 {
			t.Errorf("%s: the top instance recorded nothing and has %d stacks", version, l.entries(""))
		}
		if text := l.read("instances/a/stack_map"); !strings.Contains(text, "sched_switch") && !strings.Contains(text, "schedule") {
			t.Errorf("%s: the map of a:\n%s", version, firstLines(text, 20))
		}
		if l.read("instances/a/stack_map") == l.read("instances/b/stack_map") {
			t.Errorf("%s: both maps have the same stacks", version)
		}
		before := l.read("instances/b/stack_map_bin")
		trace := l.read("instances/b/trace")
		l.write("instances/a/stack_map", "0")
		if l.entries("instances/a/") != 0 || l.read("instances/b/stack_map_bin") != before || l.read("instances/b/trace") != trace {
			t.Errorf("%s: a reset of a leaves %d stacks, and the map or trace of b are others: %v, %v", version, l.entries("instances/a/"),
				l.read("instances/b/stack_map_bin") != before, l.read("instances/b/trace") != trace)
		}
		if err := l.fs.Rmdir("instances/a"); err != nil {
			t.Fatal(err)
		}
		if err := l.fs.Mkdir("instances/a"); err != nil {
			t.Fatal(err)
		}
		if l.entries("instances/a/") != 0 || strings.TrimSpace(l.read("instances/a/options/stackmap")) != "0" {
			t.Errorf("%s: a new instance has %d stacks", version, l.entries("instances/a/"))
		}
	}
}

// TestMapsUseUpMemory: instances whose maps would take more than 1 GiB are refused, and
// removing one makes room.
func TestMapsUseUpMemory(t *testing.T) {
	l := perInstance(t, "documented:bits=18,per-instance=yes")
	made := 3 // with the top instance
	var err error
	for err == nil && made < 20 {
		if err = l.fs.Mkdir(fmt.Sprintf("instances/more%d", made)); err == nil {
			made++
		}
	}
	// 2^18 elements of 520 bytes and 2^19 slots of 16, with the pages around them.
	const each = 1<<18*520 + 1<<19*16
	if tracefile.Errno(err) != syscall.ENOMEM || made != 1<<30/each {
		t.Fatalf("%d instances, then %v", made, err)
	}
	if err := l.fs.Rmdir("instances/b"); err != nil {
		t.Fatal(err)
	}
	if err := l.fs.Mkdir("instances/c"); err != nil {
		t.Error(err)
	}
}
