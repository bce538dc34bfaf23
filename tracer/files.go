package tracer

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"ftracelab/tracefsfs/tracefile"
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

// topDir is a folder of many files and of a few folders that hold most of what
// is looked up, and are found without making the files.
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
	for _, i := range ft.instances {
		dirs = append(dirs, i.dir())
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
func (i *Instance) dir() tracefile.Node {
	return i.heldNode(topDir(i.name, 0o750, i.files, i.eventsDir()))
}

// globalFiles are the files that only the root has.
func (ft *Ftrace) globalFiles() []tracefile.Node {
	i := ft.top
	nodes := append(i.stackmapFiles(), ft.profilerFiles()...)
	nodes = append(nodes, ft.stackTracerFiles()...)
	nodes = append(nodes, ft.cmdlineFiles()...)
	if !ft.cfg.NoLatencyTracers {
		nodes = append(nodes, ft.hwlatFiles(), ft.osnoiseFiles(), ft.rvFiles())
	}
	nodes = append(nodes, ft.uprobeFiles()...)
	return append(nodes,
		ft.formatsFile(),
		ft.dynInfoFile(),
		ft.dynEventsFile("kprobe_events", kprobeEvents, ft.writeKprobeEvent),
		i.seq("kprobe_profile", 0o440, ft.showKprobeProfile),
		ft.dynEventsFile("dynamic_events", nil, ft.createDynEvent),
		ft.syntheticEventsFile(),
		i.value("README", 0o440, func() string { return readme }, nil),
		i.value("available_events", 0o440, ft.showAvailableEvents, nil),
		i.seq("available_filter_functions", 0o440, ft.showFunctions),
		i.seq("available_filter_functions_addrs", 0o440, ft.showFunctionAddresses),
		i.seq("enabled_functions", 0o440, ft.showEnabledFunctions),
		i.seq("touched_functions", 0o440, ft.showTouchedFunctions),
		i.graphFilterFile("set_graph_function", &ft.graphFilter, "#### all functions enabled ####\n"),
		i.graphFilterFile("set_graph_notrace", &ft.graphNotrace, "#### no functions disabled ####\n"),
		i.value("max_graph_depth", 0o640, func() string { return strconv.FormatUint(uint64(ft.maxDepth), 10) + "\n" }, ft.setMaxDepth),
		i.value("tracing_thresh", 0o640, ft.showThresh, ft.setThresh),
	)
}

// files are the files every instance has.
func (i *Instance) files() []tracefile.Node {
	return []tracefile.Node{
		i.value("available_tracers", 0o440, i.showTracers, nil),
		i.value("current_tracer", 0o640, func() string { return i.current.Name + "\n" }, i.writeTracer),
		i.value("tracing_on", 0o640, i.showTracingOn, i.writeTracingOn),
		i.traceFile(-1),
		i.textPipe(-1),
		i.snapshotFile(-1),
		i.marker("trace_marker", i.writeMarker),
		i.marker("trace_marker_raw", i.writeRawMarker),
		i.value("trace_options", 0o640, i.showOptions, i.writeOptions),
		&tracefile.Dir{Name: "options", Mode: 0o750, Children: i.optionFiles},
		i.filter.file("set_ftrace_filter"),
		i.notrace.file("set_ftrace_notrace"),
		i.pidFile("set_ftrace_pid", &i.functionPIDs, "no pid\n"),
		i.pidFile("set_ftrace_notrace_pid", &i.functionNoPIDs, "no pid\n"),
		i.setEventFile(),
		i.expanding(i.pidFile("set_event_pid", &i.pids.only, "")),
		i.expanding(i.pidFile("set_event_notrace_pid", &i.pids.not, "")),
		i.eventsDir(),
		i.value("buffer_size_kb", 0o640, func() string { return i.showSize(-1) }, func(s string) error { return i.writeSize(-1, s) }),
		i.value("buffer_total_size_kb", 0o440, i.showTotalSize, nil),
		i.value("buffer_subbuf_size_kb", 0o640, i.showSubbufSize, i.writeSubbufSize),
		i.value("buffer_percent", 0o640, func() string { return strconv.FormatUint(i.percent, 10) + "\n" }, i.writePercent),
		i.value("timestamp_mode", 0o440, i.showTimestampMode, nil),
		&tracefile.Dir{Name: "per_cpu", Mode: 0o750, Children: i.cpuDirs},
		i.freeBuffer(),
		i.value("trace_clock", 0o640, i.showClock, i.writeClock),
		i.value("tracing_cpumask", 0o640, i.showCPUMask, i.writeCPUMask),
		i.microseconds("tracing_max_latency", &i.latency.max),
		i.clearable("error_log", 0o640, i.errors.show, i.errors.clear),
	}
}

// cpuDirs are the folders below per_cpu.
func (i *Instance) cpuDirs() []tracefile.Node {
	var dirs []tracefile.Node
	for cpu := range i.buf.CPUs() {
		dirs = append(dirs, &tracefile.Dir{Name: fmt.Sprintf("cpu%d", cpu), Mode: 0o750, Children: func() []tracefile.Node {
			return []tracefile.Node{
				i.traceFile(cpu),
				i.textPipe(cpu),
				i.rawPipe(cpu),
				i.snapshotFile(cpu),
				i.rawSnapshot(cpu),
				i.value("stats", 0o440, func() string { return i.showStats(cpu) }, nil),
				i.value("buffer_size_kb", 0o640, func() string { return i.showSize(cpu) }, func(s string) error { return i.writeSize(cpu, s) }),
			}
		}})
	}
	return dirs
}

// optionFiles are the files below options: those of every tracer, not only of
// the current one.
func (i *Instance) optionFiles() []tracefile.Node {
	var files []tracefile.Node
	for o := range numOptions {
		if !i.hasFile(o) {
			continue
		}
		files = append(files, i.flag(options[o].name,
			func() bool { return i.opts.Has(o) },
			func(on bool) error { return i.setOption(o, on) }))
	}
	return files
}

// writeTracer takes the name of a tracer, blanks around it allowed.
func (i *Instance) writeTracer(s string) error { return i.setTracer(strings.TrimSpace(s)) }

func (i *Instance) showTracingOn() string {
	if i.buf.Recording() {
		return "1\n"
	}
	return "0\n"
}

// Kernel: rb_simple_write, kernel/trace/trace.c.
func (i *Instance) writeTracingOn(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("tracing_on: %w", err)
	}
	on := n != 0
	if on == i.buf.Recording() {
		return nil
	}
	i.buf.SetRecording(on)
	if on && i.current.start != nil {
		i.current.start(i)
	}
	if !on && i.current.stop != nil {
		i.current.stop(i)
	}
	return nil
}

// showStats is the text of per_cpu/cpuN/stats.
//
// Kernel: tracing_stats_read, kernel/trace/trace.c.
func (i *Instance) showStats(cpu int) string {
	s := i.buf.Stats(cpu)
	return fmt.Sprintf("entries: %d\noverrun: %d\ncommit overrun: %d\nbytes: %d\noldest event ts: %s\nnow ts: %s\ndropped events: %d\nread events: %d\n",
		s.Entries, s.Overrun, s.CommitOverrun, s.Bytes, i.stamp(s.OldestTS), i.stamp(i.now(cpu)), s.Dropped, s.Read)
}

// stamp prints a time as the stats do: seconds, or the bare number of a clock
// that does not count nanoseconds.
func (i *Instance) stamp(ts uint64) string {
	if !i.clock.inNS {
		return strconv.FormatUint(ts, 10)
	}
	us := (ts + 500) / 1000
	return fmt.Sprintf("%5d.%06d", us/1e6, us%1e6)
}

// setMaxDepth is a write to max_graph_depth, of which the low 32 bits count.
//
// Kernel: graph_depth_write, kernel/trace/trace_functions_graph.c.
func (ft *Ftrace) setMaxDepth(s string) error {
	n, err := tracefile.ParseUserUlong(s, 10)
	if err != nil {
		return fmt.Errorf("max_graph_depth: %w", err)
	}
	ft.maxDepth = uint32(n)
	return nil
}
