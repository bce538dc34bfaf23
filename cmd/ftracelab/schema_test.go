package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the commands print with --json has the form of docs/schema, for one capture and
// for several.
func TestJSONSchemas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cap")
	must(t, "run", "--set", "options/stackmap=1", "--set", "options/stacktrace=1", "--set", "set_event=sched:sched_switch", "--duration", "50ms", "--out", dir)
	fleet := filepath.Join(t.TempDir(), "fleet.ftls")
	must(t, "estimate", "--summary", fleet, dir)
	for name, args := range map[string][]string{
		"estimate":         {"estimate", "--json"},
		"estimate/several": {"estimate", "--json", dir, dir},
		"estimate/fleet":   {"estimate", "--json", fleet, dir},
		"experiment":       {"experiment", "--capture", dir, "--designs", "full-stacks,stackmap", "--seeds", "2", "--format", "json"},
		"stackmap-dump":    {"stackmap-dump", "--json", filepath.Join(dir, "stack_map_bin")},
		"learn":            {"learn", "--json", "1", "--answers", "testdata/answers.yaml"},
		"bench":            {"bench", "--json", "--only", "R1"},
		"explain":          {"explain", "--json", "--list"},
		"user-stacks":      {"experiment", "user-stacks", "--json", "--seeds", "1", "--duration", "10ms"},
		"sframe":           {"sframe", "--json", elfWith(t, sampleSFrame(t))},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "bench" && testing.Short() {
				t.Skip("it measures")
			}
			file, _, _ := strings.Cut(name, "/")
			schema, err := jsonschema.NewCompiler().Compile(filepath.Join("../../docs/schema", file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args, strings.NewReader(""), &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, errs.String())
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Error(err)
			}
			wrong, _ := jsonschema.UnmarshalJSON(strings.NewReader(`{"reports": "none", "rows": 1, "grades": 1, "seeds": 1}`))
			if schema.Validate(wrong) == nil {
				t.Error("the schema takes anything")
			}
		})
	}
}
