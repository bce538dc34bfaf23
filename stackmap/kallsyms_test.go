package stackmap

import (
	"errors"
	"strings"
	"testing"

	"ftracelab/budget"
)

func TestKallsyms(t *testing.T) {
	k, err := ReadKallsyms(strings.NewReader("ffffffff81000200 t second\nffffffff81000100 T first\n\nffffffff81000180 D data\nffffffffc0000000 t of_module\t[m]\n"), budget.New(0))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xffffffff810000ff: "", 0xffffffff81000100: "first", 0xffffffff810001ff: "first",
		0xffffffff81000200: "second", 0xffffffffc0000010: "of_module",
	} {
		if got := k.Symbol(addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
	for text, want := range map[string]string{
		"ffffffff81000200 t":                         "line 1",
		"ffffffff81000200 t a\nxyz t b":              "line 2: address",
		"0000000000000000 T a\n0000000000000000 t b": "no address is known",
		"": "no address is known",
		"1 t a\n1 t " + strings.Repeat("a", 5000):         "line 2: longer than",
		"11111111111111111 t more_than_an_address_can_be": "line 1: address",
	} {
		if _, err := ReadKallsyms(strings.NewReader(text), budget.New(0)); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzKallsyms: any text gives an error or names for any address.
func FuzzKallsyms(f *testing.F) {
	f.Add("ffffffff81000200 t second\n0 D data\n1 t a\t[m]\n", uint64(1))
	f.Add("x", uint64(0))
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		k, err := ReadKallsyms(strings.NewReader(text), budget.New(0))
		if err != nil {
			return
		}
		if name := k.Symbol(addr); name != "" && !strings.Contains(text, name) {
			t.Errorf("%q is not in the text", name)
		}
	})
}
