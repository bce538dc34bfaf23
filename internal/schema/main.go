// Command schema writes docs/schema: a JSON schema for each command that prints JSON,
// made from the types that are printed.
//
//	go generate ./internal/schema
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"reflect"

	"github.com/invopop/jsonschema"

	"ftracelab/internal/bench"
	"ftracelab/internal/explain"
	"ftracelab/lab/lessons"
	"ftracelab/report"
	"ftracelab/report/experiment"
	"ftracelab/report/userstacks/compare"
	"ftracelab/stackmap"
	"ftracelab/unwind/sframe"
)

//go:generate go run . ../../docs/schema

// outputs are the JSON outputs by the command that prints them.
var outputs = map[string]any{
	"estimate":      report.Document{},
	"experiment":    experiment.Table{},
	"stackmap-dump": []stackmap.DumpedStack{},
	"bench":         []bench.Row{},
	"learn":         lessons.Report{},
	"explain":       []explain.Row{},
	"sframe":        sframe.Listing{},
	"user-stacks":   compare.Table{},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: schema DIR")
	}
	for name, v := range outputs {
		text, err := schemaOf(v)
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(os.Args[1], name+".json"), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// schemaOf is the schema of the JSON that v becomes. A field that may be missing is not
// required, and no other fields are forbidden: fields may be added within a version.
func schemaOf(v any) ([]byte, error) {
	r := jsonschema.Reflector{AllowAdditionalProperties: true, Anonymous: true, Mapper: special}
	text, err := json.MarshalIndent(r.Reflect(v), "", "  ")
	return append(text, '\n'), err
}

// special has the types that are not what their JSON is.
func special(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[report.Seconds]() {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, {Type: "null"}}}
	}
	return nil
}
