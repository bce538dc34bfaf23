package record

import (
	"ftracelab/stackmap"
	"ftracelab/tracer/record/variant"
)

// another is the documented configuration with a map of another kind.
func another[M Interner](name string, open func(stackmap.Config) (M, error)) MapConfig {
	c := Documented()
	c.Preset = name
	c.New = func(c MapConfig) (Interner, error) {
		m, err := open(c.Config)
		if err != nil {
			return nil, err // and not an Interner that holds a nil
		}
		return m, nil
	}
	return c
}

// table is a map without duplicates that places stacks as l says.
func table(name string, l variant.Layout) MapConfig {
	return another(name, func(c stackmap.Config) (*variant.Table, error) { return variant.NewTable(c, l) })
}

// pooled is the stackmap with memory of another kind for its stacks.
func pooled(name string, p stackmap.Pool) MapConfig {
	c := Documented()
	c.Preset, c.Pool = name, p
	return c
}

// The other maps, of package variant and of docs/variants.md.

func lazyPool() MapConfig       { return pooled("lazy-pool", stackmap.LazyPool) }
func variableDepth() MapConfig  { return pooled("variable-depth", stackmap.PackedPool) }
func strict() MapConfig         { return table("strict", variant.Layout{}) }
func insertionOrder() MapConfig { return table("insertion-order", variant.Layout{Numbered: true}) }
func robinHood() MapConfig      { return table("robin-hood", variant.Layout{RobinHood: true}) }

func twoWay() MapConfig {
	c := table("two-way", variant.Layout{Sets: true})
	c.Probes = 2
	return c
}

func perCPU() MapConfig {
	c := another("per-cpu", variant.NewPerCPU)
	c.NoSweep = "each CPU fills a map of its own"
	return c
}

func aging() MapConfig {
	c := another("aging", variant.NewAging)
	c.NoSweep = "a small map refuses no stack, it forgets others"
	return c
}

func bpf() MapConfig {
	c := another("bpf", func(c stackmap.Config) (*variant.BPF, error) { return variant.NewBPF(c, false) })
	c.TruncateDeep = true
	return c
}

func bpfReuse() MapConfig {
	c := another("bpf-reuse", func(c stackmap.Config) (*variant.BPF, error) { return variant.NewBPF(c, true) })
	c.TruncateDeep = true
	c.NoSweep = "a small map refuses no stack, it replaces others"
	return c
}
