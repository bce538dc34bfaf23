package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// check compares what our machine's traces say with what those of real kernels say, and
// prints what only ours say.
//
// With about, it prints all facts of that function instead, and who has them.
func check(w io.Writer, oracleDir, subsystems, kernel, about string) error {
	real, err := realFacts(oracleDir, subsystems)
	if err != nil {
		return err
	}
	ours, err := ourFacts()
	if err != nil {
		return err
	}
	if about != "" {
		return explain(w, real, ours, about)
	}
	diffs, unknown := ours.compare(real)
	if diffs, err = withoutCoded(diffs, kernel); err != nil {
		return err
	}
	return report(w, real, ours, diffs, unknown)
}

func explain(w io.Writer, real, ours *facts, about string) error {
	var lines []string
	for k, n := range real.count {
		if k.Func == about {
			lines = append(lines, fmt.Sprintf("%s: %s: %d in real captures, %d in ours\n", k.What, k.Says, n, ours.count[k]))
		}
	}
	for k, n := range ours.count {
		if k.Func == about && real.count[k] == 0 {
			lines = append(lines, fmt.Sprintf("%s: %s: only in ours, %d\n", k.What, k.Says, n))
		}
	}
	slices.Sort(lines)
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}

func report(w io.Writer, real, ours *facts, diffs []difference, unknown map[string]int) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "real captures: %d facts; our runs: %d facts\n", len(real.count), len(ours.count))
	byKind := map[string][2]int{}
	for _, d := range diffs {
		n := byKind[d.What]
		byKind[d.What] = [2]int{n[0] + 1, n[1] + d.Times}
	}
	for _, what := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(b, "%-18s %5d facts that no real capture has, seen %d times\n", what, byKind[what][0], byKind[what][1])
	}
	for _, d := range diffs {
		fmt.Fprintf(b, "%8d of %8d  %-16s  %s: %s (the function is in real captures %d times)\n", d.Times, d.Of, d.What, d.Func, d.Says, d.Real)
	}
	fmt.Fprintf(b, "%d functions are too rare in real captures to compare\n", len(unknown))
	for _, fn := range slices.SortedFunc(maps.Keys(unknown), func(x, y string) int {
		return cmp.Or(cmp.Compare(unknown[y], unknown[x]), cmp.Compare(x, y))
	}) {
		fmt.Fprintf(b, "%8d  %s\n", unknown[fn], fn)
	}
	return b.Flush()
}

// realFacts collects the facts of all captures of the function and function_graph
// tracers.
func realFacts(oracleDir, subsystems string) (*facts, error) {
	f := newFacts()
	for _, kernel := range []string{"debian", "full"} {
		o := oracle(filepath.Join(oracleDir, kernel))
		folders, err := captureFolders(string(o))
		if err != nil {
			return nil, err
		}
		if kernel == "debian" {
			more, err := captureFolders(subsystems)
			if err != nil {
				return nil, err
			}
			folders = append(folders, more...)
		}
		if err := f.addKernel(o, folders); err != nil {
			return nil, err
		}
	}
	if err := f.addStacked(oracleDir, subsystems); err != nil {
		return nil, err
	}
	return f, nil
}

// captureFolders finds the folders below dir in which the function or function_graph
// tracer was on.
func captureFolders(dir string) (folders []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "state.txt" {
			return err
		}
		state, err := os.ReadFile(path)
		if tracer, _, _ := strings.Cut(settings(string(state))["current_tracer"], "\n"); tracer == "function" || tracer == "function_graph" {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	})
	return folders, err
}

// settings reads the lines "name: value" of a capture's state. A value that stands on
// the lines below its name is there, too.
func settings(state string) map[string]string {
	set, name := map[string]string{}, ""
	for line := range strings.Lines(state) {
		line = strings.TrimSpace(line)
		if n, value, ok := strings.Cut(line, ": "); ok && !strings.Contains(n, " ") && !strings.HasPrefix(line, "#") {
			name, line = n, strings.TrimSpace(value)
		} else if n, ok := strings.CutSuffix(line, ":"); ok {
			name, line = n, ""
		}
		if line != "" && set[name] == "" {
			set[name] = line
		}
	}
	return set
}

// addKernel collects the facts of captures of one kernel.
func (f *facts) addKernel(o oracle, folders []string) error {
	syms, err := readSymbols(o)
	if err != nil {
		return err
	}
	ids, err := eventIDs(o)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		state, err := os.ReadFile(filepath.Join(dir, "state.txt"))
		if err != nil {
			return err
		}
		set := settings(string(state))
		if pid := set["set_ftrace_pid"]; pid != "no pid" && pid != "" {
			continue // when another task runs is not known
		}
		t := &trace{ids: ids, comms: map[int]string{}, partial: !strings.HasPrefix(set["set_ftrace_filter"], "####") && set["set_ftrace_filter"] != ""}
		if t.records, err = readFolder(dir); err != nil {
			return err
		}
		t.comms = commLines(filepath.Join(dir, "saved_cmdlines"))
		modules, err := moduleSymbols(filepath.Join(dir, "kallsyms.modules.txt"))
		if err != nil {
			return err
		}
		t.name = namer(syms, modules)
		f.addTrace(t)
	}
	return nil
}

// readFolder reads the raw pages of all CPUs, in order of time.
func readFolder(dir string) (records []record, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "cpu*.raw*"))
	if err != nil {
		return nil, err
	}
	size := 4096
	if state, err := os.ReadFile(filepath.Join(dir, "state.txt")); err == nil {
		if kb, err := strconv.Atoi(settings(string(state))["buffer_subbuf_size_kb"]); err == nil {
			size = kb << 10
		}
	}
	for _, name := range names {
		base := filepath.Base(name)
		cpu, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".raw")[len("cpu"):])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b, err := oracle(dir).bytes(base)
		if err != nil {
			return nil, err
		}
		if records, err = readPages(records, b, cpu, size); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	sortRecords(records)
	return records, nil
}

// commLines reads saved_cmdlines; without the file no name is known.
func commLines(file string) map[int]string {
	comms := map[int]string{}
	b, err := os.ReadFile(file)
	if err != nil {
		return comms
	}
	addComms(comms, b)
	return comms
}

func addComms(comms map[int]string, lines []byte) {
	for line := range bytes.Lines(lines) {
		pid, comm, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.Atoi(pid); err == nil && comm != "<...>" {
			comms[n] = comm
		}
	}
}

// moduleSymbols reads the symbols of a capture's modules; without the file there are
// none.
func moduleSymbols(file string) (syms []machine.Symbol, err error) {
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 3 || !strings.ContainsAny(f[1], "tT") {
			continue
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		syms = append(syms, machine.Symbol{Addr: addr, Name: f[2]})
	}
	slices.SortFunc(syms, func(a, b machine.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return syms, err
}

// namer finds the name of the function in which an address is: "" if there is none.
func namer(tables ...[]machine.Symbol) func(uint64) string {
	known := map[uint64]string{}
	return func(addr uint64) string {
		if name, ok := known[addr]; ok {
			return name
		}
		name, at := "", uint64(0)
		for _, syms := range tables {
			i, exact := slices.BinarySearchFunc(syms, addr, func(s machine.Symbol, a uint64) int { return cmp.Compare(s.Addr, a) })
			if !exact {
				i--
			}
			if i >= 0 && syms[i].Addr > at && addr-syms[i].Addr < 1<<20 {
				name, at = syms[i].Name, syms[i].Addr
			}
		}
		known[addr] = name
		return name
	}
}

// checkedRuns are the runs of our machine whose facts are compared.
var checkedRuns = []struct {
	scenario, tracer string
	seed             uint64
	time             machine.Time
}{
	{"mix", "function_graph", 1, 3 * machine.Second},
	{"mix", "function", 1, 3 * machine.Second},
	{"busy", "function_graph", 2, machine.Second},
	{"busy", "function", 2, machine.Second},
	{"idle", "function_graph", 3, 3 * machine.Second},
	{"disk", "function_graph", 4, machine.Second},
}

// ourFacts collects the facts of our machine.
func ourFacts() (*facts, error) {
	f := newFacts()
	for _, run := range checkedRuns {
		t, err := ourTrace(run.scenario, run.tracer, run.seed, run.time)
		if err != nil {
			return nil, err
		}
		f.addTrace(t)
	}
	return f, nil
}

// ourTrace runs a scenario with a tracer.
func ourTrace(scenario, tracerName string, seed uint64, d machine.Time) (*trace, error) {
	t := &trace{}
	err := runScenario(scenario, seed, d, [][2]string{{"current_tracer", tracerName}}, func(ids map[string]int, records []record) bool {
		t.ids, t.records = ids, append(t.records, records...)
		return true
	}, func(m *machine.Machine, comms []byte) {
		t.comms = map[int]string{}
		addComms(t.comms, comms)
		t.name = func(addr uint64) string { s, _ := m.Kallsyms().At(addr); return s.Name }
	})
	if err != nil {
		return nil, err
	}
	sortRecords(t.records)
	return t, nil
}

// runScenario runs a scenario with two CPUs, as the captures had them, after the settings
// were written to files of the tree. take gets the records of each millisecond, and ends
// the run by returning false. In the end, done gets the machine and saved_cmdlines.
func runScenario(scenario string, seed uint64, d machine.Time, settings [][2]string,
	take func(ids map[string]int, records []record) bool, done func(m *machine.Machine, comms []byte),
) error {
	s, err := workload.Find(scenario)
	if err != nil {
		return err
	}
	m, err := machine.New(machine.Config{CPUs: 2, Seed: seed})
	if err != nil {
		return err
	}
	if err := s.Start(m); err != nil {
		return err
	}
	ft, err := tracer.New(m, tracer.Config{NoStackmap: true})
	if err != nil {
		return err
	}
	tree := tracefsfs.New(ft.Root())
	settings = append([][2]string{{"saved_cmdlines_size", "4096"}, {"buffer_size_kb", "1000"}}, settings...)
	for _, set := range settings {
		if err := tracefsfs.WriteFile(tree, set[0], set[1]+"\n"); err != nil {
			return err
		}
	}
	ids := map[string]int{}
	for _, typ := range ft.Types().All() {
		ids[typ.System+"/"+typ.Name] = int(typ.ID)
	}
	// The buffers are emptied often enough that nothing is lost.
	for more := true; more && d > 0; d -= min(d, machine.Millisecond) {
		ft.Run(min(d, machine.Millisecond))
		var records []record
		for cpu := range 2 {
			if records, err = readPages(records, ft.Top().TakePages(cpu), cpu, 4096); err != nil {
				return err
			}
		}
		more = take(ids, records)
	}
	comms, err := tree.ReadFile("saved_cmdlines")
	if err != nil {
		return err
	}
	done(m, comms)
	return nil
}
