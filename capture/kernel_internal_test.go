package capture

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestPlaces: errors name the files of a kernel as the user would.
func TestPlaces(t *testing.T) {
	const inRoot = "home/me/cap"
	for _, c := range []struct {
		shown, dir string
		want       []string
	}{
		{"me/cap", inRoot, []string{"me/cap", "me/cap/static", "me", "me/static", ".", "static", "..", "../static"}},
		{".", inRoot, []string{".", "static", "..", "../static", "../..", "../../static", "../../..", "../../../static"}},
		{"/home/me/cap", inRoot, []string{"/home/me/cap", "/home/me/cap/static", "/home/me", "/home/me/static", "/home", "/home/static", "/", "/static"}},
		{"cap/trace.txt", "home/me", []string{"cap", "cap/static", ".", "static", "..", "../static"}}, // a text beside the files
	} {
		var got []string
		for _, p := range findKernel(location{fsys: &files{FS: fstest.MapFS{}}, name: inRoot, shown: c.shown}, c.dir).places {
			got = append(got, filepath.ToSlash(p.shown))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.shown, got, c.want)
		}
	}
}
