package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ftracelab/machine"
	"ftracelab/report/experiment"
)

// TestPerInstanceIsTraced: in the experiment per-instance, the map that an estimate makes of
// an instance's trace has as many stacks as the map into which the machine recorded it.
func TestPerInstanceIsTraced(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"experiment", "per-instance", "--format", "json"}, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	var table struct {
		Rows []struct {
			Workload, Design string
			Figures          map[string]struct{ Mean float64 }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &table); err != nil {
		t.Fatal(err)
	}
	spec, err := experiment.Builtin("per-instance")
	if err != nil {
		t.Fatal(err)
	}
	instances, compared := 0, 0
	for _, w := range spec.Workloads {
		if w.Instance == "" {
			continue
		}
		instances++
		f := labFlags{cpus: defaultCPUs, seed: 1, preset: w.Stackmap, instance: w.Instances, set: w.Set}
		l, err := f.build(w.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.run(t.Context(), machine.Time(w.Duration)); err != nil {
			t.Fatal(err)
		}
		stat, err := l.fs.ReadFile("instances/" + w.Instance + "/stack_map_stat")
		if err != nil {
			t.Fatal(err)
		}
		var entries float64
		if _, err := fmt.Sscanf(string(stat), "entries: %g", &entries); err != nil || entries == 0 {
			t.Fatalf("%s: %v in %q", w.Name, err, stat)
		}
		for _, row := range table.Rows {
			if row.Workload != w.Name || row.Design != "stackmap:bits=10" {
				continue
			}
			compared++
			if row.Figures["entries"].Mean != entries {
				t.Errorf("%s: %g stacks in the estimate's map, %g in the instance's", w.Name, row.Figures["entries"].Mean, entries)
			}
		}
	}
	if instances != 2 || compared != 2 {
		t.Errorf("%d instances, %d compared", instances, compared)
	}
}

// TestStackmapOfRun: which maps a simulated kernel can have. None has coded stacks.
func TestStackmapOfRun(t *testing.T) {
	for spec, want := range map[string]string{
		"documented:per-instance=yes":   "",
		"v4:bits=10,per-instance=yes":   "",
		"documented:per-instance=maybe": "per-instance=maybe: want yes or no",
		"coded":                         `--stackmap: no map "coded"; there are documented, v2, v4 (or none)`,
	} {
		var out, errs bytes.Buffer
		args := []string{"run", "quiet", "--duration", "5ms", "--stackmap", spec, "--instance", "web", "--set", "instances/web/set_event=sched"}
		if want == "" {
			args = append(args, "--set", "instances/web/options/stackmap=1")
		}
		status := run(context.Background(), args, strings.NewReader(""), &out, &errs)
		if (status == 0) != (want == "") || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d: %s, want …%s…", spec, status, errs.String(), want)
		}
	}
}
