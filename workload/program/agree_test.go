package program

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
	"pgregory.net/rapid"

	"ftracelab/internal/testutil"
	"ftracelab/unwind/ehframe"
	"ftracelab/unwind/sframe"
	"ftracelab/unwind/user"
)

// compile makes a program of testdata/walks.c.
func compile(t *testing.T, options ...string) string {
	t.Helper()
	gcc := testutil.Program(t, "gcc")
	out := filepath.Join(t.TempDir(), "walks")
	args := append(slices.Clone(options), "-Wa,--gsframe", "-Wl,-z,lazy", "-o", out, "testdata/walks.c")
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// Why a walk may differ from the stack.
const (
	noRow      = "SFrame: the section has no row there, but .eh_frame has"
	stale      = ".eh_frame: rbp has been restored, but the compiler's row still says where it was saved"
	nextOne    = "SFrame: the return address lies behind its function, as the call never returns"
	noFP       = "frame pointers: the function keeps none"
	unsetFP    = "frame pointers: not set yet, or no longer"
	libraryFP  = "frame pointers: the library keeps none"
	linkageFP  = "frame pointers: the linkage table keeps none"
	entryFound = "frame pointers at a function's entry: the caller is found if the walk knows that it is one"
	wrongFP    = "frame pointers: an address that is no caller"
)

// judge compares walks with the stack that a thread has noted.
type judge struct {
	*testing.T
	im      *Image
	th      *Thread
	eh      *ehframe.Section
	frames  []*sframe.Section // the same table in each version
	walkers map[string]*user.Walker
	why     map[string]int
	same    map[string]int
	fails   int
}

func newJudge(t *testing.T, im *Image) *judge {
	j := &judge{T: t, im: im, th: im.NewThread(0), why: map[string]int{}, same: map[string]int{}, walkers: map[string]*user.Walker{
		"eh_frame": {Methods: []user.Method{user.EhFrame}}, "fp": {},
		"SFrame 1": {Methods: []user.Method{user.SFrame}}, "SFrame 2": {Methods: []user.Method{user.SFrame}}, "SFrame 3": {Methods: []user.Method{user.SFrame}},
	}}
	first := im.objects[0]
	j.eh = first.EhFrames
	if first.Frames != nil {
		for version := uint8(1); version <= 3; version++ {
			b, err := first.Frames.Encode(version)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sframe.Parse(b, first.Frames.Addr)
			if err != nil {
				t.Fatal(err)
			}
			j.frames = append(j.frames, s)
		}
	}
	return j
}

// space is a thread with another table.
type space struct {
	*Thread
	objects []user.Object
}

func (s space) Objects() []user.Object { return s.objects }

// walk walks the stack by one method.
func (j *judge) walk(method string, regs user.Regs) ([]uint64, user.Stop) {
	objects := slices.Clone(j.im.objects)
	if n, ok := strings.CutPrefix(method, "SFrame "); ok {
		for i := range objects[:len(objects)-1] {
			objects[i].Frames = j.frames[n[0]-'1']
		}
	}
	return j.walkers[method].Walk(nil, regs, space{j.th, objects}, 64)
}

// here compares all walks at the place where the thread is.
func (j *judge) here() {
	var others [32]uint64
	regs, want := j.th.Regs(&others), j.th.Stack(nil)
	differ := func(method string, got []uint64, stop user.Stop) {
		if j.fails++; j.fails < 10 {
			j.Errorf("%s at %#x (%s): %x, %v; want %x", method, regs.IP-j.im.bias, j.im.Name(regs.IP), got, stop, want)
		}
	}
	for _, m := range []string{"eh_frame", "SFrame 1", "SFrame 2", "SFrame 3", "fp"} {
		if m[0] == 'S' && j.frames == nil {
			continue
		}
		got, stop := j.walk(m, regs)
		if slices.Equal(got, want) {
			if m == "eh_frame" && stop != user.Outermost {
				differ(m, got, stop)
			}
			j.same[m]++
			continue
		}
		why := ""
		switch m {
		case "eh_frame":
			why = j.staleRow(regs, got, want)
		case "fp":
			why = j.framePointers(regs, got, want)
		default:
			why = j.noSFrame(got, want, stop)
		}
		if why == "" {
			differ(m, got, stop)
		}
		j.why[why]++
	}
	if j.th.AtEntry() && j.th.lib == "" {
		regs.Entry = true
		if got, stop := j.walk("fp", regs); len(want) > 1 && (len(got) < 2 || got[1] != want[1]) {
			differ("fp at an entry", got, stop)
		}
		j.why[entryFound]++
	}
}

// common is how many addresses are the same.
func common(a, b []uint64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// staleRow says why .eh_frame must differ: gcc's rows for the last instructions of a function
// with an aligned frame are about a frame pointer that is popped already. The caller is
// found, but not always the caller's caller.
func (j *judge) staleRow(regs user.Regs, got, want []uint64) string {
	const popRBP = 0x5d
	back := func(n uint64) byte { return j.im.at(regs.IP - n)[0] }
	if common(got, want) >= 2 && j.frames != nil && (back(1) == popRBP || back(5) == popRBP) {
		if _, _, err := j.frames[0].Find(regs.IP - j.im.bias); err != nil {
			return stale
		}
	}
	return ""
}

// noSFrame says why SFrame must differ, where it must.
func (j *judge) noSFrame(got, want []uint64, stop user.Stop) string {
	n := common(got, want)
	last := want[n-1] // the frame whose caller was not found
	_, _, err := j.frames[0].Find(last - j.im.bias)
	switch {
	case n > 1 && j.im.function(last-1) != j.im.function(last):
		return nextOne
	case n == len(got) && stop == user.NoFrameData && err != nil:
		return noRow
	}
	return ""
}

// framePointers says why frame pointers must differ, where they must: the CFA, which
// .eh_frame knows, is not where the frame pointer says.
func (j *judge) framePointers(regs user.Regs, got, want []uint64) string {
	n := common(got, want)
	r := &ehframe.Regs{}
	for i, v := range regs.Others {
		r.Set(i, v)
	}
	// With recursion the addresses may be the same for some more frames.
	pc, frame := regs.IP, 0
	for ; ; frame++ {
		f, err := j.caller(r, pc)
		if err == nil && f.CFA != r.Value[rbp]+16 {
			break
		}
		if err != nil || frame == n {
			return ""
		}
		*r, pc = f.Regs, f.RA-1
		r.Set(rip, f.RA)
	}
	for _, ip := range got[n:] {
		if !slices.Contains(want, ip) {
			j.why[wrongFP]++
			break
		}
	}
	switch {
	case pc >= libBase:
		return libraryFP
	case j.im.linkage(pc):
		return linkageFP
	case j.keepsFP(pc):
		return unsetFP
	}
	return noFP
}

// caller asks .eh_frame.
func (j *judge) caller(r *ehframe.Regs, pc uint64) (ehframe.Frame, error) {
	for _, o := range j.im.objects {
		if pc >= o.Start && pc < o.End {
			return o.EhFrames.Caller(r, pc-o.Bias, j.th)
		}
	}
	return ehframe.Frame{}, ehframe.ErrNoRow
}

// keepsFP reports whether a function sets the frame pointer at all.
func (j *judge) keepsFP(pc uint64) bool {
	f := j.im.function(pc)
	if f == nil {
		return false
	}
	for at := f.start; at < f.end; {
		in, err := j.th.decode(at)
		if err != nil {
			return false
		}
		if strings.HasPrefix(in.String(), "MOV RBP, RSP") {
			return true
		}
		at += uint64(in.Len)
	}
	return false
}

// linkage reports whether an address is in a procedure linkage table.
func (im *Image) linkage(addr uint64) bool {
	f := im.function(addr)
	return f == nil || f.name == "" && f.start&15 == 0 && im.at(f.start)[0] != 0x55 && addr < im.entry
}

// run lets the thread run, and compares each address a few times.
func (j *judge) run(seed uint64, steps int) map[uint64]int {
	r := rand.New(rand.NewPCG(seed, 0))
	seen := map[uint64]int{}
	for range steps {
		at := j.th.regs[rip]
		if seen[at]++; seen[at] <= 8 {
			j.here()
		}
		if err := j.th.Step(r.IntN); err != nil {
			j.th.Start()
		}
	}
	return seen
}

// everywhere sees to it that each instruction of the functions has been compared, except for
// those that come right before the end of the program and what fills the space between two jumps.
func (j *judge) everywhere(seen map[uint64]int, names ...string) {
	checked := 0
	for _, f := range j.im.functions {
		if !slices.Contains(names, f.name) {
			continue
		}
		for at := f.start; at < f.end; {
			in, err := j.th.decode(at)
			if err != nil {
				j.Fatal(err)
			}
			if seen[at] == 0 && in.Op != x86asm.NOP && !j.ends(at, f.end) {
				j.Errorf("%s was never executed", j.im.Name(at))
			}
			checked++
			at += uint64(in.Len)
		}
	}
	if checked < 50 {
		j.Errorf("only %d instructions", checked)
	}
	j.Logf("%d instructions, walks that find the whole stack: %v, that do not: %v", checked, j.same, j.why)
}

// ends reports whether a program is about to end at an address.
func (j *judge) ends(at, end uint64) bool {
	for at < end {
		if j.th.dead(at) {
			return true
		}
		in, err := j.th.decode(at)
		if err != nil {
			return true
		}
		if op := in.Op.String(); op[0] == 'J' || op == "RET" {
			return false
		}
		at += uint64(in.Len)
	}
	return true
}

// TestAgreeSample: at every instruction of the sample's functions, walks by .eh_frame and by
// SFrame in its three versions find exactly the stack that the calls have made. A walk by
// frame pointers finds it until the first function that has none.
func TestAgreeSample(t *testing.T) {
	im, err := Load("testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, im)
	seen := j.run(1, 20000)
	// No function of the sample calls its procedure linkage table, so main does it here.
	for _, at := range []uint64{0x1020, 0x1026, 0x1030} {
		for _, bytes := range []int{0, 8} {
			if at == 0x1030 && bytes > 0 {
				continue
			}
			j.th.Start()
			for j.th.regs[rip] != im.bias+0x11e2 {
				if err := j.th.Step(func(int) int { return 0 }); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.th.enter(im.bias+at, im.bias+0x11e7); err != nil {
				t.Fatal(err)
			}
			if at != 0x1030 { // the entry that has jumped here has pushed a number, and the table pushes another one
				j.th.regs[rsp] -= 8 * (1 + (at-0x1020)/6)
			}
			j.here()
			seen[im.bias+at]++
		}
	}
	j.everywhere(seen, "leaf", "mid", "dyn", "rec", "main", "_start")
	// binutils 2.40 describes .plt, but not .plt.got, where 0x1030 is.
	if n := j.why[noRow]; n != 3 || j.why[nextOne] != 0 {
		t.Errorf("%s: %d times in three versions; %s: %d", noRow, n, nextOne, j.why[nextOne])
	}
	for _, why := range []string{noFP, unsetFP, entryFound} {
		if j.why[why] == 0 {
			t.Errorf("never: %s", why)
		}
	}
}

// TestAgreeCompiled: the same with what the installed compiler makes of a program that has
// frames of a computed size, aligned frames, calls that do not return and a procedure
// linkage table.
func TestAgreeCompiled(t *testing.T) {
	functions := []string{"leaf", "dyn", "big", "line", "aligned", "early", "rec", "sw", "main", "_start"}
	for _, options := range [][]string{
		{"-O0"},
		{"-O1"},
		{"-O2"},
		{"-O2", "-fno-omit-frame-pointer"},
		{"-Os", "-fcf-protection", "-fno-jump-tables"},
		{"-O2", "-no-pie"},
	} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			im, err := Load(compile(t, append(options, "-fno-jump-tables")...))
			if err != nil {
				t.Fatal(err)
			}
			j := newJudge(t, im)
			seen := j.run(1, 100000)
			j.th.Depth = 5 // so that the last functions of main have their turn
			for at, n := range j.run(2, 100000) {
				seen[at] += n
			}
			j.everywhere(seen, functions...)
			for _, m := range []string{"eh_frame", "SFrame 1", "SFrame 2", "SFrame 3"} {
				if j.same[m] == 0 {
					t.Errorf("no walk by %s finds the stack", m)
				}
			}
			if slices.Contains(options, "-fno-omit-frame-pointer") && j.why[stale] == 0 {
				t.Errorf("never: %s", stale)
			}
			for _, why := range []string{noRow, unsetFP, libraryFP, linkageFP, entryFound} {
				if j.why[why] == 0 {
					t.Errorf("never: %s", why)
				}
			}
		})
	}
}

// TestAgreeHost: .eh_frame agrees with the calls in a program of the host, which nobody
// has prepared.
func TestAgreeHost(t *testing.T) {
	path := "/bin/bash"
	if _, err := os.Stat(path); err != nil {
		testutil.Missing(t, "%v", err)
	}
	im, err := Load(path)
	if err != nil {
		testutil.Missing(t, "%v", err)
	}
	j := newJudge(t, im)
	seen := j.run(1, 30000)
	t.Logf("%d instructions, %v", len(seen), j.same)
	if len(seen) < 500 {
		t.Errorf("only %d instructions were executed", len(seen))
	}
}

// TestAgreeChoices: whatever the branches are, the walks agree with the calls.
func TestAgreeChoices(t *testing.T) {
	im, err := Load("testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		choices := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 100).Draw(t, "choices")
		th, n := im.NewThread(8192), 0
		choose := func(m int) int { n++; return choices[n%len(choices)] % m }
		for range 300 {
			var others [32]uint64
			regs, want := th.Regs(&others), th.Stack(nil)
			for _, m := range []user.Method{user.SFrame, user.EhFrame} {
				w := user.Walker{Methods: []user.Method{m}}
				if got, stop := w.Walk(nil, regs, th, 64); !slices.Equal(got, want) {
					t.Fatalf("%v: %x, %v; want %x", m, got, stop, want)
				}
			}
			if th.Step(choose) != nil {
				th.Start()
			}
		}
	})
}
