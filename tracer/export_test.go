package tracer

import (
	"ftracelab/tracer/output"
	"ftracelab/tracer/record"
)

// Render is the text of raw sub-buffers, one image for each CPU, as the
// instance's trace would show them, without the header.
func (tr *Instance) Render(images [][]byte) (string, error) {
	p, err := tr.printer(tr.buf)
	if err != nil {
		return "", err
	}
	var readers []output.Reader
	for cpu, image := range images {
		pages, err := output.NewPages(cpu, image, tr.buf.SubbufSize())
		if err != nil {
			return "", err
		}
		readers = append(readers, pages)
	}
	m := output.NewMerge(readers...)
	var text []byte
	for more := true; more; {
		text, more = p.AppendNext(text, m)
	}
	return string(text), nil
}

// ShadowStacks is how many tasks have a shadow stack.
func (ft *Ftrace) ShadowStacks() int { return ft.graph.Stacks() }

// Interner is the top instance's map of the option stackmap, of whatever kind.
func (ft *Ftrace) Interner() record.Interner { return ft.top.interner }
