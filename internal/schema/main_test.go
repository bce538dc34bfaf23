package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The schemas in docs are those of the types.
func TestSchemasAreCurrent(t *testing.T) {
	for name, v := range outputs {
		want, err := schemaOf(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../docs/schema", name+".json"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/schema/%s.json is out of date (%v): run go generate ./internal/schema", name, err)
		}
	}
}
