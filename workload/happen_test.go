package workload_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/workload"
)

var updateEvents = flag.Bool("update-events", false, "write docs/events.md")

// absent says why nothing of a system happens.
var absent = map[string]string{}

func init() {
	for reason, systems := range map[string]string{
		"no such device":                                         "alarmtimer amd_cpu cpuhp_x clk cros_ec cxl devfreq gpio hwmon i2c intel_iommu iommu mce mdio msr pwm ras regmap regulator rtc smbus spi swiotlb thermal thermal_power_allocator x86_fpu_x xhci-hcd dev dma_fence",
		"no such hypervisor below it":                            "hyperv xen",
		"no such file system or program":                         "9p fscache netfs fuse iomap fs_dax filelock io_uring aio vsyscall autofs",
		"no such protocol or filter":                             "bridge devlink handshake mptcp netlink bpf_test_run icmp avc xdp bpf_trace sunrpc page_pool",
		"no such control is in use":                              "resctrl wbt iocost cgroup_x huge_memory_x numa",
		"modprobe dummy makes some happen, and rmmod":            "module initcall notifier",
		"the tracer that writes them has to be started":          "osnoise ftrace rv",
		"needs memory pressure; no activity was learned from it": "oom ksm pagemap huge_memory",
	} {
		for name := range strings.FieldsSeq(systems) {
			absent[name] = reason
		}
	}
}

// firing runs a scenario for two seconds while somebody listens to everything, and says
// which events happen.
func firing(t *testing.T, s workload.Scenario) map[string]bool {
	t.Helper()
	m, err := machine.New(machine.Config{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(m); err != nil {
		t.Fatal(err)
	}
	table, err := event.NewTable(events.All()...)
	if err != nil {
		t.Fatal(err)
	}
	calls := events.NewSyscallTypes(table)
	happened := map[string]bool{}
	m.Hooks.Learned = func(_ *machine.CPU, s machine.Said) { happened[s.Name] = true }
	m.Hooks.Trace = func(_ *machine.CPU, tp machine.Tracepoint) {
		happened[tp.Event().TracepointName()] = true
		switch a := tp.(type) {
		case *machine.SysEnter:
			if typ := calls.Enter[a.NR]; typ != nil {
				happened["syscalls:"+typ.Name] = true
			}
		case *machine.SysExit:
			if typ := calls.Exit[a.NR]; typ != nil {
				happened["syscalls:"+typ.Name] = true
			}
		}
	}
	for _, name := range slices.Concat(machine.Tracepoints(), m.LearnedTracepoints()) {
		if err := m.Enable(name, true); err != nil {
			t.Fatal(err)
		}
	}
	m.Run(2 * machine.Second)
	return happened
}

// TestEventsDocument: docs/events.md says which events of each system happen.
func TestEventsDocument(t *testing.T) {
	by := map[string]map[string]bool{}
	scenarios := workload.Scenarios()
	for _, s := range scenarios {
		by[s.Name] = firing(t, s)
	}
	type row struct {
		events, happen int
		never          []string
		in             map[string]bool
	}
	rows := map[string]*row{}
	total, happen := 0, 0
	for _, typ := range events.All() {
		if typ.System == "ftrace" || typ.System == "inode_cache" {
			continue // tracing makes them happen, not the machine
		}
		r := rows[typ.System]
		if r == nil {
			r = &row{in: map[string]bool{}}
			rows[typ.System] = r
		}
		r.events++
		total++
		found := false
		for _, s := range scenarios {
			if by[s.Name][typ.System+":"+typ.Name] {
				found, r.in[s.Name] = true, true
			}
		}
		if found {
			happen++
			r.happen++
		} else {
			r.never = append(r.never, strings.TrimPrefix(typ.Name, typ.System+"_"))
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, eventsHead, happen, total)
	for _, system := range slices.Sorted(maps.Keys(rows)) {
		r := rows[system]
		why := absent[system]
		switch {
		case r.happen == r.events:
			why = ""
		case r.happen > 0 && system == "syscalls":
			why = "no process of a scenario makes the other calls; guests make their own"
		case r.happen > 0:
			why = "not seen in what was learned: " + strings.Join(r.never, ", ")
		case why == "":
			why = "no activity was learned from it"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", system, r.events, r.happen, scenarioNames(scenarios, r.in), why)
	}
	const path = "../docs/events.md"
	if *updateEvents {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the machine does; go test ./workload -run TestEventsDocument -update-events writes it", path)
	}
}

func scenarioNames(all []workload.Scenario, in map[string]bool) string {
	if len(in) == len(all) {
		return "all"
	}
	var names []string
	for _, s := range all {
		if in[s.Name] {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

const eventsHead = `# Which events happen

All scenarios ran for two simulated seconds, with every event enabled, the stack map's and the patches' kernel built
with everything. %d of %d events happened (the system ftrace, whose records the tracers write, is not counted). The
table is written by ` + "`go test ./workload -run TestEventsDocument -update-events`" + `, and a test compares it.

Events of files (ext4, jbd2, filemap, writeback, block) and of the network (net, skb, tcp, sock, udp, napi, qdisc, fib,
neigh) come from activities: what processes and kernel threads did in a capture, function for function, with the
arguments that the events had ([provenance.md](provenance.md)). An activity begins when somebody first listens to one of
its events. In the scenario *disk*, which has a driver of its own, only the driver's block events happen.

| system | events | happen | in | why not all |
|---|---|---|---|---|
`
