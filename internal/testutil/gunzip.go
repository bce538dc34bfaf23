package testutil

import (
	"compress/gzip"
	"io"
	"os"
	"testing"
)

// Gunzip returns the content of a gzipped file.
func Gunzip(tb testing.TB, path string) []byte {
	tb.Helper()
	in, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
