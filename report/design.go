package report

import (
	"fmt"
	"strings"

	"ftracelab/stackmap"
	"ftracelab/tracer"
)

// DesignNames lists the designs NamedDesign knows, in the order of a report.
func DesignNames() []string {
	return []string{
		"full-stacks", "stackmap", "stackmap-v2", "stackmap-v4",
		"stackmap+user", "deferred", "stackmap+deferred", "no-stacks",
	}
}

// NamedDesign returns the design of that name with maps of the given bits and seed.
// With bits 0, [Estimate] gives each map the size that it recommends for it.
//
//	full-stacks        what ftrace writes today: the base of all comparisons
//	stackmap           kernel stacks by id, as the stackmap documentation promises
//	stackmap-v2, -v4   the same as measured on kernels with that revision
//	stackmap+user      a second map for user stacks
//	deferred           kernel stacks in full, user stacks deferred
//	stackmap+deferred  kernel stacks by id, user stacks deferred
//	no-stacks          the events alone: the lower bound
func NamedDesign(name string, bits int, seed uint32) (tracer.Design, error) {
	preset := func(c stackmap.Config) stackmap.Config {
		c.Bits, c.Seed = bits, seed
		return c
	}
	smap := preset(stackmap.Documented())
	d := tracer.Design{Name: name, Kernel: tracer.FullStack, User: tracer.FullStack}
	switch name {
	case "full-stacks":
	case "stackmap":
		d.Kernel, d.KernelMap = tracer.StackID, smap
	case "stackmap-v2":
		d.Kernel, d.KernelMap = tracer.StackID, preset(stackmap.V2())
	case "stackmap-v4":
		d.Kernel, d.KernelMap = tracer.StackID, preset(stackmap.V4())
	case "stackmap+user":
		d.Kernel, d.KernelMap = tracer.StackID, smap
		d.User, d.UserMap = tracer.StackID, smap
	case "deferred":
		d.User = tracer.DeferredStack
	case "stackmap+deferred":
		d.Kernel, d.KernelMap = tracer.StackID, smap
		d.User = tracer.DeferredStack
	case "no-stacks":
		d.Kernel, d.User = tracer.NoStacks, tracer.NoStacks
	default:
		return tracer.Design{}, fmt.Errorf("report: no design %q; there are %s", name, strings.Join(DesignNames(), ", "))
	}
	return d, nil
}

// defaultDesigns are those a report compares if it is not told which.
func defaultDesigns(userStacks bool, bits int, seed uint32) ([]tracer.Design, error) {
	names := []string{"full-stacks", "stackmap", "no-stacks"}
	if userStacks {
		names = []string{"full-stacks", "stackmap", "stackmap+user", "deferred", "no-stacks"}
	}
	var ds []tracer.Design
	for _, n := range names {
		d, err := NamedDesign(n, bits, seed)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}
