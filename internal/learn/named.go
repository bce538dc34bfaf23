package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ftracelab/machine"
)

// namedIn are the packages that have code of the kernel that is written by hand.
var namedIn = []string{"machine", "workload", "tracer"}

// named gives the functions that the sources of those packages name. root is the folder of
// the module.
func named(ks *machine.Kallsyms, root string) (fns []uint64, err error) {
	seen := map[uint64]bool{}
	for _, dir := range namedIn {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(lit.Value)
				for _, word := range strings.Fields(text) {
					if s, ok := ks.ByName(word); ok && s.Module == "" && !seen[s.Addr] {
						seen[s.Addr] = true
						fns = append(fns, s.Addr)
					}
				}
				return true
			})
		}
	}
	return fns, nil
}

// callSites makes the table of the places where these functions call each other, or jump to
// each other. A star stands for what a function calls through its only pointer.
func callSites(ks *machine.Kallsyms, kernel, root string) ([]byte, error) {
	code, err := readText(ks, kernel)
	if err != nil {
		return nil, err
	}
	fns, err := named(ks, root)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fns, func(a, b uint64) int { return cmp.Compare(name(ks, a), name(ks, b)) })
	var b bytes.Buffer
	b.WriteString(`# Where functions of Linux 6.12.117 that the code of machine, workload and tracer names call
# each other, in Debian's kernel image: CALLER CALLEE OFFSET, the offset in the caller to
# which the callee returns, or "jump". The callee * is whatever the caller's only pointer
# points to. Made by internal/learn; see docs/provenance.md.

`)
	for _, caller := range fns {
		out := code.branchesOf(caller)
		if len(out.pointers) == 1 {
			fmt.Fprintf(&b, "%s * %#x\n", name(ks, caller), out.pointers[0].ret-caller)
		}
		for _, callee := range fns {
			if n := slices.IndexFunc(out.calls, func(c branch) bool { return c.to == callee }); n >= 0 {
				fmt.Fprintf(&b, "%s %s %#x\n", name(ks, caller), name(ks, callee), out.calls[n].ret-caller)
			} else if slices.Contains(out.jumps, callee) {
				fmt.Fprintf(&b, "%s %s jump\n", name(ks, caller), name(ks, callee))
			}
		}
	}
	return b.Bytes(), nil
}

func name(ks *machine.Kallsyms, addr uint64) string {
	s, _ := ks.At(addr)
	return s.Name
}

// learnCallSites writes the table for the module in the folder root.
func learnCallSites(kernel, root, out string) error {
	ks, err := machine.LoadKallsyms()
	if err != nil {
		return err
	}
	b, err := callSites(ks, kernel, root)
	if err != nil {
		return err
	}
	return os.WriteFile(out, b, 0o644)
}
