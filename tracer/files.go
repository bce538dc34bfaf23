package tracer

import (
	"fmt"
	"io/fs"
	"strconv"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/option"
)

// Root returns the tree of the tracefs. Its files lock the Ftrace for as long
// as one read or write takes.
//
// Kernel: init_tracer_tracefs and tracer_init_tracefs, kernel/trace/trace.c.
func (ft *Ftrace) Root() *tracefile.Dir {
	instances := &tracefile.Dir{
		Name: "instances", Mode: 0o750,
		Children: ft.instanceDirs, Find: ft.instanceDir, Mkdir: ft.mkdir, Rmdir: ft.rmdir,
	}
	return topDir("", 0o700, func() []tracefile.Node {
		return append(append(ft.top.files(), ft.globalFiles()...), instances)
	}, ft.top.eventsDir(), instances)
}

// topDir returns a folder with many files and a few folders. Most lookups go through
// those folders (often), and they are found without making the files.
func topDir(name string, mode fs.FileMode, children func() []tracefile.Node, often ...tracefile.Node) *tracefile.Dir {
	return &tracefile.Dir{Name: name, Mode: mode, Children: children, Find: func(name string) tracefile.Node {
		if node := named(often, name); node != nil {
			return node
		}
		return named(children(), name)
	}}
}

func (ft *Ftrace) instanceDirs() []tracefile.Node {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	var dirs []tracefile.Node
	for _, tr := range ft.instances {
		dirs = append(dirs, tr.dir())
	}
	return dirs
}

func (ft *Ftrace) instanceDir(name string) tracefile.Node {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	if at, exists := ft.findInstance(name); exists {
		return ft.instances[at].dir()
	}
	return nil
}

// dir is instances/NAME.
func (tr *Instance) dir() tracefile.Node {
	files := func() []tracefile.Node { return append(tr.files(), tr.stackmapFiles()...) }
	return tr.heldNode(topDir(tr.name, 0o750, files, tr.eventsDir()))
}

// globalFiles are the files that only the root has.
func (ft *Ftrace) globalFiles() []tracefile.Node {
	tr := ft.top
	nodes := tr.stackmapFiles()
	if ft.cfg.FunctionProfiler {
		nodes = append(nodes, ft.profiler.Files()...)
	}
	nodes = append(nodes, ft.stackTracer.files()...)
	nodes = append(nodes, ft.cmdlines.Files((*host)(ft))...)
	if !ft.cfg.NoLatencyTracers {
		nodes = append(nodes, ft.rv.Files())
	}
	for n := range ft.tracers {
		if t := &ft.tracers[n]; t.Files != nil && ft.hasTracer(t) {
			nodes = append(nodes, t.Files()...)
		}
	}
	if ft.cfg.OwnFiles {
		nodes = append(nodes, ft.ownFiles())
	}
	nodes = append(nodes, ft.dyn.Files()...)
	nodes = append(nodes, ft.graphFilters.files()...)
	return append(nodes,
		ft.formatsFile(),
		ft.top.value("dyn_ftrace_total_info", 0o440, ft.users.ShowInfo, nil),
		tr.value("README", 0o440, func() string { return readme }, nil),
		tr.value("available_events", 0o440, ft.showAvailableEvents, nil),
		tr.seq("available_filter_functions", 0o440, ft.users.ShowFunctions),
		tr.seq("available_filter_functions_addrs", 0o440, ft.users.ShowAddresses),
		tr.seq("enabled_functions", 0o440, ft.users.ShowEnabled),
		tr.seq("touched_functions", 0o440, ft.users.ShowTouched),
		tr.value("tracing_thresh", 0o640, ft.showThresh, ft.setThresh),
	)
}

// files are the files every instance has.
func (tr *Instance) files() []tracefile.Node {
	return []tracefile.Node{
		tr.value("available_tracers", 0o440, tr.showTracers, nil),
		tr.value("current_tracer", 0o640, func() string { return tr.current.Name + "\n" }, tr.writeTracer),
		tr.value("tracing_on", 0o640, tr.showTracingOn, tr.writeTracingOn),
		tr.traceFile(-1),
		tr.textPipe(-1),
		tr.snapshotFile(-1),
		tr.marker("trace_marker", tr.writeMarker),
		tr.marker("trace_marker_raw", tr.writeRawMarker),
		tr.value("trace_options", 0o640, tr.showOptions, tr.writeOptions),
		&tracefile.Dir{Name: "options", Mode: 0o750, Children: tr.optionFiles},
		tr.filter.file("set_ftrace_filter"),
		tr.notrace.file("set_ftrace_notrace"),
		tr.pidFile("set_ftrace_pid", &tr.functionPIDs, "no pid\n"),
		tr.pidFile("set_ftrace_notrace_pid", &tr.functionNoPIDs, "no pid\n"),
		tr.setEventFile(),
		tr.expanding(tr.pidFile("set_event_pid", &tr.pids.only, "")),
		tr.expanding(tr.pidFile("set_event_notrace_pid", &tr.pids.not, "")),
		tr.eventsDir(),
		tr.value("buffer_size_kb", 0o640, func() string { return tr.showSize(-1) }, func(s string) error { return tr.writeSize(-1, s) }),
		tr.value("buffer_total_size_kb", 0o440, tr.showTotalSize, nil),
		tr.value("buffer_subbuf_size_kb", 0o640, tr.showSubbufSize, tr.writeSubbufSize),
		tr.value("buffer_percent", 0o640, func() string { return strconv.FormatUint(tr.percent, 10) + "\n" }, tr.writePercent),
		tr.value("timestamp_mode", 0o440, tr.showTimestampMode, nil),
		&tracefile.Dir{Name: "per_cpu", Mode: 0o750, Children: tr.cpuDirs},
		tr.freeBuffer(),
		tr.value("trace_clock", 0o640, tr.showClock, tr.writeClock),
		tr.value("tracing_cpumask", 0o640, tr.showCPUMask, tr.writeCPUMask),
		tr.microseconds("tracing_max_latency", &tr.maxLatency),
		tr.clearable("error_log", 0o640, tr.errors.show, tr.errors.clear),
	}
}

// cpuDirs are the folders below per_cpu.
func (tr *Instance) cpuDirs() []tracefile.Node {
	var dirs []tracefile.Node
	for cpu := range tr.buf.CPUs() {
		dirs = append(dirs, &tracefile.Dir{Name: fmt.Sprintf("cpu%d", cpu), Mode: 0o750, Children: func() []tracefile.Node {
			return []tracefile.Node{
				tr.traceFile(cpu),
				tr.textPipe(cpu),
				tr.rawPipe(cpu),
				tr.snapshotFile(cpu),
				tr.rawSnapshot(cpu),
				tr.value("stats", 0o440, func() string { return tr.showStats(cpu) }, nil),
				tr.value("buffer_size_kb", 0o640, func() string { return tr.showSize(cpu) }, func(s string) error { return tr.writeSize(cpu, s) }),
			}
		}})
	}
	return dirs
}

// optionFiles are the files below options: those of every tracer, not only those of
// the current one.
func (tr *Instance) optionFiles() []tracefile.Node {
	var files []tracefile.Node
	for o := range option.Count {
		if !tr.hasFile(o) {
			continue
		}
		files = append(files, tr.flag(option.Table[o].Name,
			func() bool { return tr.opts.Has(o) },
			func(on bool) error { return tr.setOption(o, on) }))
	}
	return files
}

// writeTracer handles a write to current_tracer; blanks around the name are allowed.
//
// Kernel: tracing_set_trace_write, kernel/trace/trace.c.
func (tr *Instance) writeTracer(s string) error { return tr.setTracer(tracefile.Stripped(s)) }

func (tr *Instance) showTracingOn() string {
	if tr.buf.Recording() {
		return "1\n"
	}
	return "0\n"
}

// Kernel: rb_simple_write, kernel/trace/trace.c.
func (tr *Instance) writeTracingOn(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("tracing_on: %w", err)
	}
	tr.ft.inodes.reset()
	on := n != 0
	if on == tr.buf.Recording() {
		return nil
	}
	tr.buf.SetRecording(on)
	if on && tr.current.Start != nil {
		tr.current.Start(tr.trace())
	}
	if !on && tr.current.Stop != nil {
		tr.current.Stop(tr.trace())
	}
	return nil
}

// showStats is the text of per_cpu/cpuN/stats.
//
// Kernel: tracing_stats_read, kernel/trace/trace.c.
func (tr *Instance) showStats(cpu int) string {
	s := tr.buf.Stats(cpu)
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: %d\nbytes: %d\noldest event ts: %s\nnow ts: %s\ndropped events: %d\nread events: %d\n",
		s.Entries, s.Overrun, s.CommitOverrun, s.Bytes, tr.stamp(s.OldestTS), tr.stamp(tr.now(cpu)), s.Dropped, s.Read)
}

// stamp prints a time as the stats do: in seconds, or as a bare number if the clock
// does not count nanoseconds.
func (tr *Instance) stamp(ts uint64) string {
	if !tr.clock.InNS {
		return strconv.FormatUint(ts, 10)
	}
	us := (ts + 500) / 1000
	return fmt.Sprintf("%5d.%06d", us/1e6, us%1e6)
}
