package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ftracelab/internal/golden"
)

// mapped runs the simulated machine, with a stackmap or without, and gives the capture.
func mapped(t *testing.T, name, stackmap string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	ftracelab(t, append([]string{
		"run", "--duration", "100ms", "--out", out, "--set", "options/stacktrace=1", "--set", "options/stackmap=" + stackmap,
		"--set", "set_event=sched:sched_switch", "--set", "set_event=kmem:kmem_cache_alloc",
	}, args...)...)
	return out
}

// TestMapped: of a machine that recorded ids, a report and an estimate are those of the
// same machine without the map, whichever form the capture and its map have.
func TestMapped(t *testing.T) {
	off, on := mapped(t, "off", "0"), mapped(t, "on", "1")
	dat := []string{mapped(t, "on6.dat", "1", "--file-version", "6"), mapped(t, "on7.dat", "1")}
	want := reportText(t, off)
	if n := bytes.Count(want, []byte("<stack trace>")); n < 50 {
		t.Fatalf("only %d stacks", n)
	}
	sameLines(t, reportText(t, on), want)
	ids, err := os.ReadFile(filepath.Join(on, "trace.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := (&golden.Text{Content: ids}).Difference(reportText(t, "--stack-ids", on)); diff != "" {
		t.Errorf("with --stack-ids: %s", diff)
	}
	full := estimate(t, off)
	text := estimate(t, filepath.Join(off, "trace.txt"))
	for _, form := range []string{"stack_map", "stack_map_bin"} {
		file := filepath.Join(on, form)
		for _, capture := range append(dat, on) {
			if capture != on {
				sameLines(t, reportText(t, "--as", "trace", "--stack-map", file, capture), want)
			}
			r := estimate(t, "--stack-map", file, capture)
			for i, d := range r.Designs {
				if w := full.Designs[i]; d.Bytes != w.Bytes || d.Events != w.Events || d.Breakdown != w.Breakdown {
					t.Errorf("%s of %s with %s: %d bytes of %d events, without the map %d of %d",
						d.Name, filepath.Base(capture), form, d.Bytes, d.Events, w.Bytes, w.Events)
				}
			}
			v := r.Verification
			if v.PagesIdentical == 0 || v.PagesIdentical != v.PagesCompared || v.PagesUnmatched != 0 || v.CaptureBytes >= full.Verification.CaptureBytes {
				t.Errorf("the kernel's own pages, with ids, were not re-created: %+v", v)
			}
			if r.Input.UniqueKernelStacks != full.Input.UniqueKernelStacks || !strings.Contains(r.Caveats[0], "were replaced by the stacks that they stand for in "+file) {
				t.Errorf("%+v %q", r.Input, r.Caveats)
			}
		}
		r := estimate(t, "--stack-map", file, filepath.Join(on, "trace.txt"))
		for i, d := range r.Designs {
			if w := text.Designs[i]; d.Bytes != w.Bytes || d.Events != w.Events {
				t.Errorf("%s of the text with %s: %d bytes of %d events, without the map %d of %d", d.Name, form, d.Bytes, d.Events, w.Bytes, w.Events)
			}
		}
	}
}

// TestMappedLacking: what the map does not tell is counted, named, and never taken for a
// saving.
func TestMappedLacking(t *testing.T) {
	on := mapped(t, "on", "1")
	text, err := os.ReadFile(filepath.Join(on, "stack_map"))
	if err != nil {
		t.Fatal(err)
	}
	all := estimate(t, on)
	stacks := bytes.SplitAfter(text, []byte("\n\n"))
	part := filepath.Join(on, "part")
	for _, c := range []struct {
		name    string
		file    []byte
		caveats []string
	}{
		{"a stack less", bytes.Join(stacks[1:], nil), []string{
			`^this capture was made with a stackmap: \d+ stack_id records were replaced`,
			`^\d+ of ` + "%n" + ` stack_id records have ids that are not in .*part \(1 ids, the first is ` + string(bytes.Fields(stacks[0])[1]) + `\)`,
		}},
		{"counted before", regexp.MustCompile(`\[ref \d+,`).ReplaceAll(text, []byte("[ref 0,")), []string{
			`were replaced`, `^` + "%u" + ` ids are in more records than .*part has counted for them`,
		}},
		{"other symbols", bytes.ReplaceAll(text, []byte("+0x"), []byte("_new+0x")), []string{
			`were replaced`, `^\d+ frames of .*part have names that .* do not have`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(part, c.file, 0o666); err != nil {
				t.Fatal(err)
			}
			r := estimate(t, "--stack-map", part, on)
			for i, want := range c.caveats {
				want = strings.NewReplacer("%n", num(all.Input.KernelStacks), "%u", num(all.Input.UniqueKernelStacks)).Replace(want)
				if !regexp.MustCompile(want).MatchString(r.Caveats[i]) {
					t.Errorf("caveat %q is not %s", r.Caveats[i], want)
				}
			}
			if n := r.Input.KernelStacks + r.Input.StackIDs; n != all.Input.KernelStacks || r.Input.Events != all.Input.Events {
				t.Errorf("%d stacks and ids of %d, %d events of %d", n, all.Input.KernelStacks, r.Input.Events, all.Input.Events)
			}
			if v := r.Verification; v.PagesIdentical != v.PagesCompared {
				t.Errorf("%+v", v)
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), []string{"report", "--stack-map", part, on}, nil, &out, &errs); status != 0 ||
				!strings.Contains(errs.String(), strings.TrimSuffix(part, "part")) {
				t.Errorf("report: status %d, %q", status, errs.String())
			}
			if got, want := uint64(bytes.Count(out.Bytes(), []byte("<stack_id "))), r.Input.StackIDs; got != want {
				t.Errorf("report prints %d ids, %d are not in the map", got, want)
			}
		})
	}
	for _, name := range []string{"stack_map", "stack_map_bin"} {
		if err := os.Remove(filepath.Join(on, name)); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(on, "page.html")
	r := estimate(t, "--html", page, on)
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("that map was not read")) || bytes.Contains(text, []byte("The the")) {
		t.Errorf("the page does not say that the map was not read: %v", err)
	}
	if r.Input.StackIDs != all.Input.KernelStacks || r.Answer.SavingPct != 0 || !strings.Contains(r.Answer.Sentence, "that map was not read") ||
		!strings.Contains(r.Caveats[0], "the map is not here") || strings.Contains(strings.Join(r.Caveats, "\n"), "stacktrace") {
		t.Errorf("without a map: %+v %q %q", r.Input, r.Answer.Sentence, r.Caveats)
	}
	ids, err := os.ReadFile(filepath.Join(on, "trace.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := (&golden.Text{Content: ids}).Difference(reportText(t, on)); diff != "" {
		t.Errorf("without a map: %s", diff)
	}
}

// TestMappedBadFile: a map that cannot be read is an error that names it, and the place.
func TestMappedBadFile(t *testing.T) {
	on := mapped(t, "on", "1")
	bin, err := os.ReadFile(filepath.Join(on, "stack_map_bin"))
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(on, "bad")
	for _, c := range []struct{ content, want string }{
		{string(bin[:len(bin)-3]), "bad: stack map: stack "},
		{"stack_id 1 [ref 1, depth 2]\n  [0] a+0x1/0x2\n", "bad: stack map: line 3: inside a stack: unexpected EOF"},
		{"# tracer: nop\n", "bad: stack map: line 1: no first line of a stack"},
	} {
		if err := os.WriteFile(bad, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"estimate", "report"} {
			var out, errs bytes.Buffer
			if status := run(context.Background(), []string{command, "--stack-map", bad, on}, nil, &out, &errs); status != 1 || !strings.Contains(errs.String(), c.want) {
				t.Errorf("%s: status %d, %q, want %q", command, status, errs.String(), c.want)
			}
		}
	}
}

// TestMappedSavings: from what a patched kernel recorded with ids comes what it recorded
// of the same work without the map, and its own pages.
func TestMappedSavings(t *testing.T) {
	for _, c := range []struct {
		name    string
		off, on float64 // bytes per event with its stack, measured
		pages   uint64
		stacks  uint64 // unique, of the buffer
	}{
		{"kmem_stack", 166.0, 76.0, 655, 228},
		{"sched_stack", 168.5, 84.0, 1308, 65},
		{"func_stack", 118.3, 44.0, 417, 255},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := estimate(t, oracle(t, "stackmap/v2/savings/a_on/"+c.name))
			within(t, "bytes per event, off", r.Designs[0].BytesPerEvent, c.off, 0.005)
			within(t, "bytes per event, on", r.Designs[1].BytesPerEvent, c.on, 0.001)
			if v := r.Verification; v.PagesIdentical != c.pages || v.PagesCompared != c.pages || v.PagesUnmatched != 0 {
				t.Errorf("the kernel has %d pages: %+v", c.pages, v)
			}
			if in := r.Input; in.UniqueKernelStacks != c.stacks || in.StackIDs != 0 {
				t.Errorf("%+v, the kernel's buffer has %d unique stacks", in, c.stacks)
			}
		})
	}
}

// stacksOf gives the stacks of a text, each as one string.
func stacksOf(text []byte) (stacks []string) {
	for _, m := range regexp.MustCompile(`<stack trace>\n((?: => .*\n)+)`).FindAllSubmatch(text, -1) {
		stacks = append(stacks, string(m[1]))
	}
	return stacks
}

// TestMappedText: what report prints for the ids of a patched kernel is what that kernel
// printed of the same calls without the map.
func TestMappedText(t *testing.T) {
	kernel := oracle(t, "stackmap/v4")
	for _, name := range []string{"kmem", "func"} {
		dir := filepath.Join(kernel, "deep", "sm_deep_"+name+"_stackmap")
		off, err := os.ReadFile(dir + "0/trace.txt")
		if err != nil {
			t.Fatal(err)
		}
		texts, _, err := golden.Texts(dir + "1") // they know where the symbols of the module are
		if err != nil || len(texts) == 0 {
			t.Fatalf("%d texts, %v", len(texts), err)
		}
		folder := texts[0].Folder(t, kernel)
		for _, form := range []string{"stack_map", "stack_map_bin"} {
			want, got := stacksOf(off), stacksOf(reportText(t, "--kernel", kernel, "--stack-map", filepath.Join(dir+"1", form), folder))
			if len(want) != 45 || !slices.Equal(got, want) {
				t.Errorf("%s: %d stacks, the kernel's %d, are not the same", name, len(got), len(want))
			}
		}
	}
}

// TestMappedCaptures: in every capture of the patched kernels all ids are known, and what
// they stand for is what stack_map says.
func TestMappedCaptures(t *testing.T) {
	dirs, err := filepath.Glob(oracle(t, "stackmap/v*/pairs*/sm*"))
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d captures, %v", len(dirs), err)
	}
	if testing.Short() {
		dirs = dirs[:6]
	}
	ids := uint64(0)
	for _, dir := range dirs {
		r := estimate(t, dir)
		v := r.Verification
		if r.Input.StackIDs != 0 || v.PagesIdentical == 0 || v.PagesIdentical != v.PagesCompared || v.PagesUnmatched != 0 {
			t.Errorf("%s: %d ids unknown, %+v", dir, r.Input.StackIDs, v)
		}
		kernel := reportText(t, "--stack-ids", dir)
		got := stacksOf(reportText(t, "--trace-option", "sym-offset", dir))
		for _, want := range idsOf(t, dir, kernel) {
			ids++
			if !slices.Contains(got, want) {
				t.Errorf("%s: no stack\n%s", dir, want)
				break
			}
		}
	}
	if ids < 500 {
		t.Errorf("only %d ids", ids)
	}
}

// idsOf looks up the ids of a text in the folder's stack_map.
func idsOf(t *testing.T, dir string, text []byte) (stacks []string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(dir, "stack_map"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	known := map[string]string{}
	for stack := range strings.SplitSeq(string(file), "\n\n") {
		if head, frames, ok := strings.Cut(stack, "\n"); ok {
			frames = regexp.MustCompile(`(?m)^  \[\d+\] `).ReplaceAllString(frames, " => ") + "\n"
			known[strings.Fields(head)[1]] = strings.ReplaceAll(frames, "0x7fffffff", "[FTRACE TRAMPOLINE]")
		}
	}
	for _, m := range regexp.MustCompile(`<stack_id (\d+)>`).FindAllSubmatch(text, -1) {
		if stack, ok := known[string(m[1])]; ok {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

func num(n uint64) string { return strconv.FormatUint(n, 10) }
