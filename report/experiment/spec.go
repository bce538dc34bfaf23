package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ftracelab/internal/strictyaml"
	"ftracelab/report"
	"ftracelab/tracer/record"
)

// Spec is an experiment: what is compared on what.
type Spec struct {
	Title    string `yaml:"title" json:"title"`
	Question string `yaml:"question" json:"question,omitempty"`
	// Workloads are traced or read once for each seed.
	Workloads []Workload `yaml:"workloads" json:"workloads"`
	// Designs are spelled as [record.ParseDesign] reads them. The first is the base that
	// savings are of.
	Designs []string `yaml:"designs" json:"designs"`
	// Seeds are those of the machine and of the maps' hash. None means 1.
	Seeds []uint32 `yaml:"seeds" json:"seeds"`
	// BufferSizeKB and SubbufSize are sizes to try; none means those of an estimate.
	BufferSizeKB []int `yaml:"buffer-size-kb" json:"buffer_size_kb"`
	SubbufSize   []int `yaml:"subbuf-size" json:"subbuf_size"`
	// Metrics are the columns to show, by name; none means [DefaultMetrics].
	Metrics []string `yaml:"metrics" json:"metrics"`
	// Answer is a text/template that says in words what came out; see [Table.Answer].
	Answer string `yaml:"answer" json:"-"`
}

// Workload is a capture, a model of one, or a scenario of the simulated machine.
type Workload struct {
	Name string `yaml:"name" json:"name"` // for the table; if it is empty, the capture's, model's or scenario's

	// Capture is a file or folder, or the name of a capture that comes with the program,
	// such as "example". Its records are the same for every seed.
	Capture string `yaml:"capture" json:"capture,omitempty"`

	// Model is a file that ftracelab model has written, or the name of a model that comes
	// with the program. Duration is how long records are
	// drawn from it; 0: as many records as it was learned from.
	Model string `yaml:"model" json:"model,omitempty"`

	// Scenario is the name of one. Set are writes to tracefs files before it runs,
	// FILE=VALUE, Duration is how much simulated time it runs for, and CPUs how many it
	// has (0: 4).
	Scenario string   `yaml:"scenario" json:"scenario,omitempty"`
	Set      []string `yaml:"set" json:"set,omitempty"`
	Duration Duration `yaml:"duration" json:"duration,omitempty"`
	CPUs     int      `yaml:"cpus" json:"cpus,omitempty"`
	// Instances are made before Set is written. Instance is the one of them whose trace is
	// read; empty: the top instance. Stackmap is the map of the scenario's kernel, as
	// [record.ParseMap] reads it; empty: it has none. What was recorded as ids is read back
	// as the stacks that they stand for.
	Instances []string `yaml:"instances" json:"instances,omitempty"`
	Instance  string   `yaml:"instance" json:"instance,omitempty"`
	Stackmap  string   `yaml:"stackmap" json:"stackmap,omitempty"`
}

// Duration is a time.Duration that is spelled as one: 500ms, 2s.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q: want a duration such as 500ms or 2s", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Bounds of an experiment. They keep a mistaken number from running for years.
const (
	maxTrials = 100_000
	maxSeeds  = 10_000
)

// Parse reads a spec from YAML. The error names the line and what is allowed there.
func Parse(text []byte) (Spec, error) {
	var s Spec
	if err := strictyaml.Decode(text, &s); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// Validate returns an error that names what of s cannot be run, or nil.
func (s Spec) Validate() error { return s.complete() }

// complete fills in defaults and refuses what cannot be run. It returns the designs of
// a trial, whose maps get the trial's seed.
func (s *Spec) complete() error {
	if len(s.Workloads) == 0 {
		return errors.New("workloads: there is none")
	}
	if len(s.Designs) == 0 {
		return errors.New("designs: there is none")
	}
	if len(s.Seeds) == 0 {
		s.Seeds = []uint32{1}
	}
	if len(s.BufferSizeKB) == 0 {
		s.BufferSizeKB = []int{1408}
	}
	if len(s.SubbufSize) == 0 {
		s.SubbufSize = []int{4096}
	}
	if len(s.Metrics) == 0 {
		s.Metrics = DefaultMetrics()
	}
	if len(s.Seeds) > maxSeeds {
		return fmt.Errorf("seeds: %d of them; %d at most", len(s.Seeds), maxSeeds)
	}
	s.Workloads = slices.Clone(s.Workloads)
	for n := range s.Workloads {
		if err := s.Workloads[n].complete(); err != nil {
			return fmt.Errorf("workloads[%d]: %w", n, err)
		}
	}
	if twice := repeated(s.names()); twice != "" {
		return fmt.Errorf("workloads: two have the name %q; give each a name", twice)
	}
	if twice := repeated(s.Designs); twice != "" {
		return fmt.Errorf("designs: %s is there twice", twice)
	}
	for _, name := range s.Metrics {
		if _, ok := metricByName(name); !ok {
			return fmt.Errorf("metrics: no metric %q; there are %s", name, strings.Join(MetricNames(), ", "))
		}
	}
	if _, err := s.designs(1); err != nil {
		return fmt.Errorf("designs: %w", err)
	}
	for _, kb := range s.BufferSizeKB {
		for _, size := range s.SubbufSize {
			if kb == 0 || size == 0 {
				return fmt.Errorf("a buffer of %d KB with sub-buffers of %d bytes: neither may be 0", kb, size)
			}
			if err := (report.Options{BufferSizeKB: kb, SubbufSize: size}).Validate(); err != nil {
				return err
			}
		}
	}
	// Each factor is bounded by the length of a file, so the product does not overflow.
	if n := len(s.Workloads) * len(s.Seeds) * len(s.BufferSizeKB) * len(s.SubbufSize); n > maxTrials {
		return fmt.Errorf("%d trials; %d at most", n, maxTrials)
	}
	return nil
}

func (w *Workload) complete() error {
	kinds := 0
	for _, kind := range []string{w.Capture, w.Model, w.Scenario} {
		if kind != "" {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return errors.New("want one of capture, model and scenario")
	case w.Capture != "" && w.Duration != 0:
		return errors.New("duration is for a scenario or a model, not for a capture")
	case w.Scenario == "" && (len(w.Set)+len(w.Instances) > 0 || w.CPUs != 0 || w.Instance+w.Stackmap != ""):
		return errors.New("set, cpus, instances, instance and stackmap are for a scenario")
	case w.Instance != "" && !slices.Contains(w.Instances, w.Instance):
		return fmt.Errorf("instance %q is none of the instances %q", w.Instance, w.Instances)
	case w.Duration < 0:
		return fmt.Errorf("duration %v is negative", time.Duration(w.Duration))
	}
	if w.Stackmap != "" {
		if _, err := record.ParseMap(w.Stackmap); err != nil {
			return fmt.Errorf("stackmap: %w", err)
		}
	}
	if w.Scenario != "" && w.Duration == 0 {
		w.Duration = Duration(time.Second)
	}
	if w.Name == "" {
		w.Name = w.Capture + w.Model + w.Scenario
	}
	return nil
}

func (s *Spec) names() (names []string) {
	for _, w := range s.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// designs are the designs of a trial with that seed.
func (s *Spec) designs(seed uint32) ([]record.Design, error) {
	var ds []record.Design
	for _, spec := range s.Designs {
		d, err := record.ParseDesign(spec, 0, seed)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}

func repeated(names []string) string {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return n
		}
		seen[n] = true
	}
	return ""
}
