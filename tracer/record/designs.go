package record

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/stackmap"
	"ftracelab/tracer/record/stackcode"
)

// named are the designs that have a name, in the order of a report.
var named = []struct {
	name         string
	kernel, user StackMode
	kernelMap    func() MapConfig // of StackID
	userMap      func() MapConfig // of StackID
}{
	// What ftrace writes today: the base of all comparisons.
	{name: "full-stacks", kernel: FullStack, user: FullStack},
	// Kernel stacks by id, as the stackmap documentation promises, and as measured on
	// kernels with that revision.
	{name: "stackmap", kernel: StackID, kernelMap: Documented, user: FullStack},
	{name: "stackmap-v2", kernel: StackID, kernelMap: V2, user: FullStack},
	{name: "stackmap-v4", kernel: StackID, kernelMap: V4, user: FullStack},
	// The stackmap with other memory for its stacks, and maps of other kinds.
	{name: "lazy-pool", kernel: StackID, kernelMap: lazyPool, user: FullStack},
	{name: "variable-depth", kernel: StackID, kernelMap: variableDepth, user: FullStack},
	{name: "strict", kernel: StackID, kernelMap: strict, user: FullStack},
	{name: "insertion-order", kernel: StackID, kernelMap: insertionOrder, user: FullStack},
	{name: "robin-hood", kernel: StackID, kernelMap: robinHood, user: FullStack},
	{name: "two-way", kernel: StackID, kernelMap: twoWay, user: FullStack},
	{name: "per-cpu", kernel: StackID, kernelMap: perCPU, user: FullStack},
	{name: "aging", kernel: StackID, kernelMap: aging, user: FullStack},
	{name: "bpf", kernel: StackID, kernelMap: bpf, user: FullStack},
	{name: "bpf-reuse", kernel: StackID, kernelMap: bpfReuse, user: FullStack},
	// No map: a stack as what it shares with the one before it.
	{name: "coded", kernel: CodedStack, user: FullStack},
	// A second map, for user stacks.
	{name: "stackmap+user", kernel: StackID, kernelMap: Documented, user: StackID, userMap: Documented},
	// User stacks deferred, kernel stacks in full and by id.
	{name: "deferred", kernel: FullStack, user: DeferredStack},
	{name: "stackmap+deferred", kernel: StackID, kernelMap: Documented, user: DeferredStack},
	// The events alone: the lower bound.
	{name: "no-stacks", kernel: NoStacks, user: NoStacks},
}

// DesignNames lists the designs that NamedDesign knows.
func DesignNames() []string {
	var names []string
	for _, d := range named {
		names = append(names, d.name)
	}
	return names
}

// NamedDesign returns the design of that name, with maps of the given bits and
// seed. If bits is 0, the size is left open, and the code that writes the design
// chooses it, except for maps for which nobody can: those have [stackmap.DefaultBits].
//
//	full-stacks        what ftrace writes today: the base of all comparisons
//	stackmap           kernel stacks by id, as the stackmap documentation promises
//	stackmap-v2, -v4   the same as measured on kernels with that revision
//	lazy-pool          a stackmap whose memory grows with use
//	variable-depth     the same, and a stack takes room for its own addresses only
//	strict             a stackmap without duplicates
//	insertion-order    the same, whose ids are numbers in the order of coming
//	robin-hood         the same with Robin Hood hashing
//	two-way            a stackmap without duplicates, of sets of two slots
//	per-cpu            a stackmap for each CPU
//	aging              a map that forgets the stacks that nobody uses
//	bpf, bpf-reuse     BPF_MAP_TYPE_STACK_TRACE, and with BPF_F_REUSE_STACKID
//	coded              no map: each kernel stack as what it shares with the one before it
//	stackmap+user      a second map for user stacks
//	deferred           kernel stacks in full, user stacks deferred
//	stackmap+deferred  kernel stacks by id, user stacks deferred
//	no-stacks          the events alone: the lower bound
func NamedDesign(name string, bits int, seed uint32) (Design, error) {
	for _, n := range named {
		if n.name != name {
			continue
		}
		d := Design{Name: name, Kernel: n.kernel, User: n.user}
		if d.Kernel == CodedStack {
			d.Code = stackcode.Delta
		}
		for _, m := range []struct {
			to   *MapConfig
			make func() MapConfig
		}{{&d.KernelMap, n.kernelMap}, {&d.UserMap, n.userMap}} {
			if m.make != nil {
				*m.to = m.make()
				m.to.Bits, m.to.Seed = bits, seed
				if bits == 0 && m.to.NoSweep != "" {
					m.to.Bits = stackmap.DefaultBits
				}
			}
		}
		return d, nil
	}
	return Design{}, fmt.Errorf("no design %q; there are %s", name, strings.Join(DesignNames(), ", "))
}

// ParseDesigns reads designs as a command line spells them, with commas between:
//
//	full-stacks,stackmap:bits=12,probes=8,hash=xxhash64,no-stacks
//
// A design is a name that NamedDesign knows; after a colon come the fields that
// differ from it, which [MapFields] lists. A part with an equals sign belongs
// to the design before it. bits and seed apply to maps whose fields do not set
// them. The design is named as it was spelled.
func ParseDesigns(list string, bits int, seed uint32) ([]Design, error) {
	var specs []string
	for part := range strings.SplitSeq(list, ",") {
		name, _, _ := strings.Cut(part, ":")
		if strings.Contains(name, "=") && len(specs) > 0 {
			specs[len(specs)-1] += "," + part
			continue
		}
		specs = append(specs, part)
	}
	var ds []Design
	for _, spec := range specs {
		d, err := ParseDesign(spec, bits, seed)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}

// ParseDesign reads one design, see [ParseDesigns]. A key that begins with
// "user." sets a field of the map of user stacks; any other key sets a field of
// the map of kernel stacks. Coded stacks have the field code instead.
func ParseDesign(spec string, bits int, seed uint32) (Design, error) {
	name, fields, _ := strings.Cut(spec, ":")
	d, err := NamedDesign(name, bits, seed)
	if err != nil {
		return Design{}, err
	}
	d.Name = spec
	err = eachField(fields, func(key, value string) error {
		m, kind, mode := &d.KernelMap, "kernel", d.Kernel
		of, ofUser := strings.CutPrefix(key, "user.")
		if ofUser {
			m, kind, mode = &d.UserMap, "user", d.User
		}
		if mode == CodedStack {
			return d.setCode(key, value)
		}
		if mode != StackID {
			return fmt.Errorf("it has no map of %s stacks to have %s", kind, key)
		}
		return m.Set(of, value)
	})
	if err != nil {
		return Design{}, fmt.Errorf("design %s: %w", spec, err)
	}
	return d, nil
}

// DesignFields describes the fields of designs without a map that a command line can
// set, one line for each.
func DesignFields() string {
	return fmt.Sprintf("%-14s %s (%s)\n", codeKey, "of coded: the addresses that a stack does not share, in full or as differences", codes)
}

// The one field of coded stacks.
const (
	codeKey = "code"
	codes   = "prefix or delta"
)

// setCode sets the field of coded stacks.
func (d *Design) setCode(key, value string) error {
	if key != codeKey {
		return fmt.Errorf("it has no map of kernel stacks to have %s; there is %s", key, codeKey)
	}
	for _, c := range []stackcode.Code{stackcode.Prefix, stackcode.Delta} {
		if c.String() == value {
			d.Code = c
			return nil
		}
	}
	return fmt.Errorf("%s=%s: want %s", key, value, codes)
}

// ParseMap reads the map of a kernel as a command line spells it: the name of a
// preset (documented, v2, v4), and after a colon the fields that differ from
// it.
//
//	v4:bits=12,probes=8
func ParseMap(spec string) (MapConfig, error) {
	name, fields, _ := strings.Cut(spec, ":")
	presets := []MapConfig{Documented(), V2(), V4()}
	i := slices.IndexFunc(presets, func(c MapConfig) bool { return c.Preset == name })
	if i < 0 {
		return MapConfig{}, fmt.Errorf("no map %q; there are documented, v2, v4", name)
	}
	c := presets[i]
	if err := eachField(fields, c.Set); err != nil {
		return MapConfig{}, fmt.Errorf("map %s: %w", spec, err)
	}
	return c, nil
}

// eachField calls f for each key=value of a list with commas between.
func eachField(list string, f func(key, value string) error) error {
	if list == "" {
		return nil
	}
	for field := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return fmt.Errorf("%q: want KEY=VALUE", field)
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}
