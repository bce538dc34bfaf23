package summary_test

import (
	"bytes"
	"fmt"

	"ftracelab/report/summary"
)

// The summaries of two machines, one of them from a file, become one.
func ExampleMerger() {
	var file bytes.Buffer
	if err := summary.Encode(&file, &summary.Summary{
		Machines: []summary.Machine{{Name: "web2", KernelStacks: 5, UniqueStacks: 1}},
		Stacks:   []summary.Stack{{Hash: 77, Depth: 12, Count: 5}},
	}); err != nil {
		fmt.Println(err)
	}

	m := summary.NewMerger(nil)
	if err := m.Read(&file); err != nil {
		fmt.Println(err)
	}
	if err := m.Add(&summary.Summary{
		Machines: []summary.Machine{{Name: "web1", KernelStacks: 9, UniqueStacks: 2}},
		Stacks:   []summary.Stack{{Hash: 77, Depth: 12, Count: 7}, {Hash: 99, Depth: 3, Count: 2}},
	}); err != nil {
		fmt.Println(err)
	}
	s := m.Sum()
	for _, row := range s.Machines {
		fmt.Println(row.Name, row.KernelStacks)
	}
	for _, st := range s.Stacks {
		fmt.Println(st.Hash, st.Depth, st.Count)
	}
	// Output:
	// web1 9
	// web2 5
	// 77 12 12
	// 99 3 2
}
