package main

import (
	"bytes"
	"os"
	"testing"
)

func TestDocumentIsCurrent(t *testing.T) {
	want, err := render("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/departures.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/departures.md is out of date: run go generate ./internal/departures")
	}
}
