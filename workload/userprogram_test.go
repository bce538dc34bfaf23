package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/machine"
	"ftracelab/unwind/user"
	"ftracelab/workload/program"
)

// programs are the sample, which makes no system calls, and what gcc makes of a program
// that does.
func programs(t *testing.T) map[string]*program.Image {
	t.Helper()
	list := map[string]*program.Image{}
	sample, err := program.Load("program/testdata/sample.elf")
	if err != nil {
		t.Fatal(err)
	}
	list["sample"] = sample
	gcc, dir := testutil.Program(t, "gcc"), t.TempDir()
	source := filepath.Join(dir, "direct.c")
	direct := "static long call(long nr,long a){long r;asm volatile(\"syscall\":\"=a\"(r):\"a\"(nr),\"D\"(a):\"rcx\",\"r11\",\"memory\");return r;}\n" +
		"__attribute__((noinline)) long ask(long a){return call(39,a)+call(102,a);}\n" +
		"int main(int c,char**v){return ask(c)+ask(1);}\n"
	if err := os.WriteFile(source, []byte(direct), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"walks":  {"-O1", "-Wa,--gsframe", "program/testdata/walks.c"},
		"direct": {"-O1", "-static", "-Wa,--gsframe", source},
	} {
		out := filepath.Join(dir, name)
		if text, err := exec.Command(gcc, append(args, "-o", out)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if list[name], err = program.Load(out); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestProgramStays: at each entry into the kernel the registers belong to the stack, the
// system calls are those of the program, and time passes.
func TestProgramStays(t *testing.T) {
	for name, im := range programs(t) {
		m, err := machine.New(machine.Config{CPUs: 2, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := Start(m, Config{}); err != nil {
			t.Fatal(err)
		}
		p := &userProgram{w: m.Workload().(*mix), cfg: ProgramConfig{Image: im}, thread: im.NewThread(0), rng: m.Rand("test")}
		calls, faults, asleep, deepest := map[int64]int{}, 0, 0, 0
		w := user.Walker{Methods: []user.Method{user.EhFrame}}
		for range 3000 {
			stay := p.next(nil, nil)
			if len(stay.Code) == 0 || stay.After == 0 {
				t.Fatalf("%s: %+v", name, stay)
			}
			got, stop := w.Walk(nil, user.Regs{UserRegs: stay.User}, p.thread, 64)
			want := p.thread.Stack(nil)
			// In the first instructions of an aligned frame only r10 knows the caller; the kernel hands it on to
			// no walk.
			if !slices.Equal(got, want) && stop != user.NoRegister {
				t.Fatalf("%s: %x, %v; want %x", name, got, stop, want)
			}
			deepest = max(deepest, len(want))
			if stay.Kind == machine.PageFault {
				faults++
				continue
			}
			calls[stay.NR]++
			if stay.Wait.Timeout > 0 {
				asleep++
			}
		}
		t.Logf("%s: %d page faults, system calls %v, %d asleep, up to %d addresses", name, faults, calls, asleep, deepest)
		want := map[string][]int64{"sample": nil, "walks": {sysWrite, sysClockNanosleep, 12}, "direct": {sysGetPID, 102}}[name]
		for _, nr := range want {
			if calls[nr] == 0 {
				t.Errorf("%s never makes system call %d", name, nr)
			}
		}
		if len(want) != len(calls) && name != "direct" || faults == 0 || name == "walks" && asleep == 0 {
			t.Errorf("%s: %v, %d page faults, %d asleep", name, calls, faults, asleep)
		}
	}
}

// TestProgramFaults: with a part of the stack swapped out, a walk is the beginning of what
// it would have been.
func TestProgramFaults(t *testing.T) {
	im := programs(t)["walks"]
	m, err := machine.New(machine.Config{CPUs: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(m, Config{}); err != nil {
		t.Fatal(err)
	}
	p := &userProgram{w: m.Workload().(*mix), cfg: ProgramConfig{Image: im, Faults: 2}, thread: im.NewThread(0), rng: m.Rand("test")}
	w := user.Walker{Methods: []user.Method{user.EhFrame}}
	whole, short := 0, 0
	for range 5000 {
		stay := p.next(nil, nil)
		got, stop := w.Walk(nil, user.Regs{UserRegs: stay.User}, p.thread, 64)
		want := p.thread.Stack(nil)
		switch {
		case slices.Equal(got, want):
			whole++
		case stop == user.Fault && slices.Equal(got, want[:len(got)]):
			short++
		case stop != user.NoRegister:
			t.Fatalf("%x, %v; want %x", got, stop, want)
		}
	}
	if whole == 0 || short == 0 {
		t.Errorf("%d whole walks and %d that fault", whole, short)
	}
}

// TestStartProgram: the process runs beside the scenario's own, and each of two runs with
// the same seed is the same.
func TestStartProgram(t *testing.T) {
	im := programs(t)["walks"]
	run := func() (stays int, last machine.UserRegs) {
		m, err := machine.New(machine.Config{CPUs: 2, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Find("mix")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(m); err != nil {
			t.Fatal(err)
		}
		if err := StartProgram(m, ProgramConfig{Image: im}); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			m.Run(100 * machine.Microsecond)
			for _, task := range m.Tasks() {
				if task.Comm != "walks" {
					continue
				}
				if len(task.Maps) < 4 || task.Maps[0].Path != im.Path {
					t.Fatalf("%+v", task.Maps)
				}
				if task.User != last {
					stays, last = stays+1, task.User
				}
			}
		}
		return stays, last
	}
	stays, last := run()
	again, same := run()
	if stays < 20 || again != stays || same != last {
		t.Errorf("%d stays until %+v, then %d until %+v", stays, last, again, same)
	}
	if err := StartProgram(&machine.Machine{}, ProgramConfig{Image: im}); err == nil {
		t.Error("a machine without a scenario runs it")
	}
}
