package budget_test

import (
	"errors"
	"strings"
	"testing"

	"ftracelab/budget"
)

func TestTake(t *testing.T) {
	b := budget.New(budget.Own + 32<<20)
	if err := b.Take(30<<20, "a"); err != nil {
		t.Fatal(err)
	}
	err := b.Take(3<<20, "a table")
	var too *budget.Error
	if !errors.As(err, &too) || too.Size != 3<<20 || too.Used != 30<<20 {
		t.Fatalf("3 MiB of 2: %v", err)
	}
	for _, want := range []string{"a table would take 3 MiB of memory beside the 30 MiB taken before", "--memory 84M allows", "at least --memory 96M is needed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if err := budget.New(too.Needed()).Take(33<<20, "both"); err != nil {
		t.Errorf("with the advised memory: %v", err)
	}
	if err := b.Take(2<<20, "the rest"); err != nil {
		t.Error("a failed Take took something:", err)
	}
	b.Give(2 << 20)
	if err := b.Take(2<<20, "again"); err != nil {
		t.Error(err)
	}
}

// TestHuge: the sizes that hostile inputs claim do not make the numbers wrap around.
func TestHuge(t *testing.T) {
	b := budget.New(budget.Default)
	if err := b.Take(1<<20, "a"); err != nil {
		t.Fatal(err)
	}
	err := b.Take(1<<63-1, "everything")
	var too *budget.Error
	if !errors.As(err, &too) || too.Needed() < 1<<62 {
		t.Errorf("%v", err)
	}
}

// TestPart: if a part lacks some bytes, the whole needs that many for each of its
// parts.
func TestPart(t *testing.T) {
	b := budget.New(budget.Own + 40<<20)
	if err := b.Take(10<<20, "a"); err != nil {
		t.Fatal(err)
	}
	lanes := b.Part(3)
	if err := lanes.Take(10<<20, "lanes"); err != nil {
		t.Fatal(err)
	}
	err := lanes.Take(10<<20, "more lanes")
	var too *budget.Error
	if !errors.As(err, &too) {
		t.Fatal(err)
	}
	enough := budget.New(too.Needed())
	if err := enough.Take(10<<20, "a"); err != nil {
		t.Fatal(err)
	}
	if err := enough.Part(3).Take(20<<20, "lanes"); err != nil {
		t.Errorf("with the advised memory: %v", err)
	}
	if err := b.Part(1).Take(20<<20, "the rest"); err != nil {
		t.Error(err)
	}
	if err := b.Take(1, "nothing is left"); err == nil {
		t.Error("a part was not taken")
	}
}

func TestLeast(t *testing.T) {
	if got := budget.New(1).Memory(); got != budget.Least {
		t.Errorf("%d bytes", got)
	}
	if got := budget.OrDefault(nil).Memory(); got != budget.Default {
		t.Errorf("%d bytes", got)
	}
}
