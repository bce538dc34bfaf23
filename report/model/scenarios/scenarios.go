// Package scenarios has the models that come with the program: loads that many have, for
// those who have no capture of their own.
//
// All but one were learned by `ftracelab model` from captures of a real kernel, which are
// not here; docs/provenance.md says how they were taken, docs/models.md how well each
// model predicts. The adversary was learned from nothing: it is a rule, each stack is new.
package scenarios

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"ftracelab/report/model"
)

// Each is made by the command that users have. FTRACELAB_SCENARIOS names the folder with
// the captures.
//
//go:generate go run ftracelab/cmd/ftracelab model --about about/slab-from-boot.yaml --kernel $FTRACELAB_ORACLE/debian/static -o learned/slab-from-boot.yaml $FTRACELAB_SCENARIOS/slab-from-boot
//go:generate go run ftracelab/cmd/ftracelab model --about about/function-mix.yaml --kernel $FTRACELAB_ORACLE/debian/static -o learned/function-mix.yaml $FTRACELAB_SCENARIOS/function-mix
//go:generate go run ftracelab/cmd/ftracelab model --about about/scheduler-storm.yaml --kernel $FTRACELAB_ORACLE/debian/static -o learned/scheduler-storm.yaml $FTRACELAB_SCENARIOS/scheduler-storm
//go:generate go run ftracelab/cmd/ftracelab model --about about/network-server.yaml --kernel $FTRACELAB_ORACLE/debian/static -o learned/network-server.yaml $FTRACELAB_SCENARIOS/network-server
//go:generate go run ftracelab/cmd/ftracelab model --about about/compile-job.yaml -o learned/compile-job.yaml $FTRACELAB_CAPTURES/perf-script-go-build.txt.gz

//go:embed learned adversary.yaml
var files embed.FS

// names are in the order in which they are listed.
var names = []string{"slab-from-boot", "function-mix", "scheduler-storm", "network-server", "compile-job", "adversary"}

// Names lists the models.
func Names() []string { return slices.Clone(names) }

// Text is the model of that name as YAML.
func Text(name string) ([]byte, error) {
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no model %q comes with the program; there are %s", name, strings.Join(names, ", "))
	}
	if name == "adversary" {
		return files.ReadFile("adversary.yaml")
	}
	return files.ReadFile("learned/" + name + ".yaml")
}

// Model is the model of that name.
func Model(name string) (*model.Model, error) {
	text, err := Text(name)
	if err != nil {
		return nil, err
	}
	m, err := model.Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}
