package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"ftracelab/report"
)

// Trial is one pass over a workload: all designs at once, with one seed and one size of
// buffer.
type Trial struct {
	Workload     Workload `json:"workload"`
	Designs      []string `json:"designs"`
	Seed         uint32   `json:"seed"`
	BufferSizeKB int      `json:"buffer_size_kb"`
	SubbufSize   int      `json:"subbuf_size"`
}

// trials lists the trials of a spec that is complete, in the order of its table.
func (s *Spec) trials() (ts []Trial) {
	for _, w := range s.Workloads {
		for _, kb := range s.BufferSizeKB {
			for _, size := range s.SubbufSize {
				for _, seed := range s.Seeds {
					ts = append(ts, Trial{w, s.Designs, seed, kb, size})
				}
			}
		}
	}
	return ts
}

// String names a trial in a message.
func (t *Trial) String() string {
	return fmt.Sprintf("%s, seed %d, %d KB, sub-buffers of %d", t.Workload.Name, t.Seed, t.BufferSizeKB, t.SubbufSize)
}

// key is the same for the same trial, and for no other one.
func (t *Trial) key() string {
	text, err := json.Marshal(struct {
		Version int
		Trial
	}{storeVersion, *t})
	if err != nil {
		panic("experiment: invariant: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Outcome is what came out of a trial: the figures of each design by metric. A figure
// that the trial does not have is missing.
type Outcome struct {
	Trial   Trial                `json:"trial"`
	Figures []map[string]float64 `json:"figures"` // by design
	Notes   []string             `json:"notes"`   // what makes the figures other than they seem
}

func outcome(t Trial, r *report.Report) Outcome {
	o := Outcome{Trial: t, Notes: []string{}}
	for i := range r.Designs {
		figures := map[string]float64{}
		for _, m := range metrics {
			if v, ok := m.get(r, &r.Designs[i]); ok {
				figures[m.Name] = v
			}
		}
		o.Figures = append(o.Figures, figures)
	}
	if r.Input.Lost > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("%s: %s events of it were lost before it was read", t.Workload.Name, report.Group(r.Input.Lost)))
	}
	if r.Input.Stacks == 0 {
		o.Notes = append(o.Notes, t.Workload.Name+": it has no stacks")
	}
	return o
}
