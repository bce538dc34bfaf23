package tracer_test

import (
	"testing"

	"ftracelab/machine"
	"ftracelab/tracefsfs"
	"ftracelab/tracer"
	"ftracelab/workload"
)

// The shadow stack of a task goes with the task.
func TestShadowStacksOfTheDead(t *testing.T) {
	sim, err := machine.New(machine.Config{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	mix, err := workload.Find("")
	if err != nil {
		t.Fatal(err)
	}
	if err := mix.Start(sim); err != nil {
		t.Fatal(err)
	}
	ft, err := tracer.New(sim, tracer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tracefsfs.WriteFile(tracefsfs.New(ft.Root()), "current_tracer", "function_graph\n"); err != nil {
		t.Fatal(err)
	}
	const second = 1_000_000_000
	ft.Run(second)
	early := ft.ShadowStacks()
	ft.Run(5 * second)
	if late := ft.ShadowStacks(); early == 0 || late > early+early/4 {
		t.Errorf("%d shadow stacks after a second, %d after six", early, late)
	}
}
