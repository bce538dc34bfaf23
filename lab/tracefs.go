package lab

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// A Console runs a command of a shell whose working folder is a tracefs, and returns what
// it prints. An error is not that a command has failed, but that none can run any more.
type Console func(command string) (output string, err error)

// console is how the scenario tracefs gets its machine.
var console atomic.Pointer[func() ([]answer, error)]

// UseConsole lets there be the scenario tracefs, whose steps are commands. boot makes a
// fresh machine, always the same; it is called at most once, by the first Play of that
// scenario. A program without a machine has all the other scenarios.
//
// It is called before anything else of this package.
func UseConsole(boot func() (Console, error)) {
	once := sync.OnceValues(func() ([]answer, error) {
		run, err := boot()
		if err != nil {
			return nil, err
		}
		return ask(run)
	})
	console.Store(&once)
}

// CommandState is a command that was typed into a tracefs.
type CommandState struct {
	Typed  []string // all commands so far
	Output string   // what the last one has printed
	Files  string   // what some files hold then
}

// answer is what a command has led to.
type answer struct{ output, files string }

// A typed is a command of the scenario, and what it means.
type typed struct {
	command string
	say     sentence
}

// shownFiles prints what does not change by being looked at.
const shownFiles = `for f in tracing_on current_tracer set_event; do for v in $(cat $f); do echo "$f: $v"; done; done
holds() { n=$(grep -vc '^#' $1); if [ $n = 1 ]; then echo "$1: 1 event"; else echo "$1: $n events"; fi; }
holds trace; holds snapshot
for i in $(ls instances); do holds instances/$i/trace; done
`

var commands = []typed{
	{"cat current_tracer", sentence{"Each file of the tracefs is a small program. This one prints the tracer, and none is chosen: nop.", "tracing_set_trace_read"}},
	{"echo 1 > events/sched/sched_switch/enable", sentence{"The tracepoint sched_switch has a function to call now. From here on, each switch from one task to another writes a record into the ring of its CPU.", "event_enable_write"}},
	{"sleep .05", sentence{"Fifty milliseconds pass on the simulated machine. Commands take no time there; only sleep lets something happen.", ""}},
	{"echo 0 > tracing_on", sentence{"The rings accept no more records. Tracepoints are still called, and what was recorded stays.", "rb_simple_write"}},
	{"grep -v '^#' trace | head -3", sentence{"trace merges the rings of all CPUs by time, and makes text of the binary records just now, when it is read. It takes nothing away.", "s_show"}},
	{"head -1 trace_pipe | cut -c 1-72", sentence{"trace_pipe takes away what it gives. head prints one line, but it has read a whole block; those events are gone.", "tracing_read_pipe"}},
	{"grep -vc '^#' trace", sentence{"This many events are left for trace. What head had read and not printed is missing.", "s_show"}},
	{"echo > trace", sentence{"Opening trace for writing, as the shell does for >, empties the rings.", "tracing_open"}},
	{"echo 0 > events/sched/sched_switch/enable; echo 1 > tracing_on", sentence{"The event is off, and the rings accept records again.", "rb_simple_write"}},
	{"echo before > trace_marker", sentence{"A program can write into the trace, too. This line is an event of the ring like all others.", "tracing_mark_write"}},
	{"echo 1 > snapshot", sentence{"There is a second buffer of the same size now, and the two have changed places: what was recorded is in the snapshot, and the writers go on in the empty buffer. Nothing was copied.", "tracing_snapshot_write"}},
	{"echo after > trace_marker", sentence{"This event is in the buffer that is written now, not in the snapshot.", "tracing_mark_write"}},
	{"grep -h tracing_mark_write snapshot trace", sentence{"First the line of the snapshot, then that of the trace.", "s_show"}},
	{"mkdir instances/own", sentence{"An instance has rings, events and a tracer of its own. What is switched on in it writes only there.", "instance_mkdir"}},
	{"echo 1 > instances/own/events/sched/sched_waking/enable; sleep .005", sentence{"Five milliseconds with sched_waking in the instance. The trace of the root stays as it was.", "event_enable_write"}},
	{"echo 0 > instances/own/tracing_on; echo traceoff:1 > events/sched/sched_switch/trigger", sentence{"A trigger is called at each sched_switch, though the event is not recorded. This one switches tracing off, once.", "event_trigger_write"}},
	{"sleep .01; cat tracing_on", sentence{"The next switch of a task has pulled the trigger: tracing is off, and what led there stays in the rings.", "traceoff_trigger"}},
	{"echo 1 > tracing_on; echo 'hist:keys=next_comm:sort=hitcount' > events/sched/sched_switch/trigger; sleep .01", sentence{"A histogram is a trigger as well. It counts in the kernel, event for event, and needs no room in the rings.", "event_hist_trigger"}},
	{"grep hitcount: events/sched/sched_switch/hist", sentence{"Whoever reads it gets the keys in order. How they are kept is the scenario hist.", "hist_show"}},
}

// ask types all commands into a machine.
func ask(run Console) ([]answer, error) {
	files, err := run(shownFiles)
	if err != nil {
		return nil, err
	}
	answers := []answer{{files: files}}
	for _, c := range commands {
		var a answer
		if a.output, err = run(c.command); err == nil {
			a.files, err = run(shownFiles)
		}
		if err != nil {
			return nil, fmt.Errorf("lab: tracefs: %s: %w", c.command, err)
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// tracefs shows what the commands have printed. They run once, however often steps are
// looked at, because there is nothing to choose.
func (p *player) tracefs() {
	answers, err := (*console.Load())()
	if err != nil {
		p.err = err
		return
	}
	state := CommandState{Files: answers[0].files}
	p.copy = func(m *Moment) {
		s := state
		s.Typed = s.Typed[:len(s.Typed):len(s.Typed)]
		m.Command = &s
	}
	p.begin("A simulated machine has booted. Nothing is traced yet. Each step is a command that somebody types in the folder of the tracefs.")
	for i, c := range commands {
		state.Typed = append(state.Typed, c.command)
		state.Output, state.Files = answers[i+1].output, answers[i+1].files
		p.step("user", c.command, 0, c.say)
	}
}

// command is the last command with its text, and what was typed before.
func (m *Moment) command() []Section {
	s := m.Command
	if len(s.Typed) == 0 {
		return []Section{{Rows: [][]Cell{sentenceRow(Free, "nothing was typed")}}}
	}
	last := len(s.Typed) - 1
	rows := [][]Cell{sentenceRow(Header, "# "+s.Typed[last])}
	for _, line := range lines(s.Output) {
		rows = append(rows, sentenceRow(Data, line))
	}
	if s.Output == "" {
		rows = append(rows, sentenceRow(Free, "(it prints nothing)"))
	}
	sections := []Section{{Rows: rows}}
	if last > 0 {
		var before [][]Cell
		for _, c := range s.Typed[:last] {
			before = append(before, sentenceRow(Label, "# "+c))
		}
		sections = append(sections, Section{Title: "typed before", Rows: before})
	}
	return sections
}

// files are what some files hold now.
func (m *Moment) files() []Section {
	var rows [][]Cell
	for _, line := range lines(m.Command.Files) {
		name, value, _ := strings.Cut(line, ": ")
		rows = append(rows, []Cell{{Text: name, Class: Header}, {Text: value, Class: Data, Ref: "file-" + name, About: "what this file holds"}})
	}
	return []Section{{Title: "the tracefs after this command", Rows: rows}}
}

func lines(s string) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
