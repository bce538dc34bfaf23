package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
)

func captures(t *testing.T) oracle {
	t.Helper()
	return oracle(filepath.Join(testutil.Oracle(t), "debian"))
}

// kernel is the folder of the kernel's package, or "" if the package cannot be had any
// more. Then a test of internal/facts compares the sum of what is made of it.
func kernel(t *testing.T) string {
	t.Helper()
	dir := testutil.FromEnv(t, "FTRACELAB_KERNEL", "the folder into which the kernel's package was unpacked")
	if dir == "unavailable" {
		t.Log("there is no package of the kernel: its code was not read")
		return ""
	}
	return dir
}

// TestEmbeddedFilesAreCurrent: the embedded files are what the captures give, byte for
// byte.
func TestEmbeddedFilesAreCurrent(t *testing.T) {
	o, full := captures(t), oracle(filepath.Join(testutil.Oracle(t), "full"))
	dir := t.TempDir()
	syms, trails := filepath.Join(dir, "kallsyms"), filepath.Join(dir, "trails")
	model := filepath.Join(dir, "model")
	made := map[string]string{syms: "../../machine/kallsyms.bin", trails: "../../workload/trails.bin.gz", model: "../../workload/model.bin"}
	kernel := kernel(t)
	if kernel == "" {
		delete(made, model)
		model = ""
	}
	subsystems := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems")
	if err := learnTrails(testutil.Oracle(t), subsystems, trails); err != nil {
		t.Fatal(err)
	}
	if kernel != "" {
		calls := filepath.Join(dir, "callsites")
		made[calls] = "../../machine/callsites.txt"
		if err := learnCallSites(kernel, "../..", calls); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(o, full, subsystems, kernel, syms, model); err != nil {
		t.Fatal(err)
	}
	for made, have := range made {
		a, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(have)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s: run go generate ./%s", have, path.Base(filepath.Dir(have)))
		}
	}
}

// TestKallsymsAgreeWithReports: every symbol that trace-cmd printed with its address is
// found at that address.
func TestKallsymsAgreeWithReports(t *testing.T) {
	text, err := captures(t).text("stacks/trace_ev.report.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	ks, err := machine.LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^=> (\S+) \(([0-9a-f]+)\)$`)
	checked := 0
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			continue
		}
		addr, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := ks.At(addr); ok && s.Module == "" && addr < 0xffffffffa0000000 {
			checked++
			if s.Name != m[1] {
				t.Errorf("%#x is %s, trace-cmd says %s", addr, s.Name, m[1])
			}
		}
	}
	if checked < 10_000 {
		t.Errorf("%d addresses checked", checked)
	}
}

// addressOf gives the addresses of functions by their names.
func addressOf(t *testing.T, ks *machine.Kallsyms) func(name string) uint64 {
	return func(name string) uint64 {
		t.Helper()
		s, ok := ks.ByName(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		return s.Addr
	}
}

func TestCallPathsAreThoseOfStacks(t *testing.T) {
	o := captures(t)
	ks, err := machine.LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := eventIDs(o)
	if err != nil {
		t.Fatal(err)
	}
	kernel := kernel(t)
	if kernel == "" {
		return
	}
	cs, err := learnCallers(o, kernel, ks, ids)
	if err != nil {
		t.Fatal(err)
	}
	addr := addressOf(t, ks)
	for _, c := range []struct{ grand, caller, callee, want string }{
		{"", "do_syscall_64", "x64_sys_call", "x64_sys_call"},
		{"do_syscall_64", "x64_sys_call", "__x64_sys_dup2", "__x64_sys_dup2 tail"},
		{"", "do_syscall_64", "syscall_exit_to_user_mode_prepare", "syscall_exit_to_user_mode hidden, syscall_exit_to_user_mode_prepare"},
		{"", "schedule", "__traceiter_sched_switch", "__schedule hidden, __traceiter_sched_switch"},
		{"do_syscall_64", "__x64_sys_clone", "kernel_clone", "__do_sys_clone hidden tail, kernel_clone"},
	} {
		var grand uint64
		if c.grand != "" {
			grand = addr(c.grand)
		}
		var got []string
		for _, s := range cs.path(grand, addr(c.caller), addr(c.callee), strings.HasSuffix(c.want, "tail"), nil) {
			word := cs.name(s.Func)
			if s.Hidden {
				word += " hidden"
			}
			if s.Tail {
				word += " tail"
			}
			got = append(got, word)
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s calls %s: %s, want %s", c.caller, c.callee, g, c.want)
		}
	}
}
