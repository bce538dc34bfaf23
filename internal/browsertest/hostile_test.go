package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestHostileAddresses opens places that there are not. Each is answered with a sentence,
// and the page goes on.
func TestHostileAddresses(t *testing.T) {
	w := lab(t, "step/event?step=3", look{1280, "light"})
	for place, want := range map[string]string{
		"nested?step=1&v=99":                       "this program reads version 1",
		"<script>hacked=1</script>?step=1":         "no scenario",
		"event?step=99999999999999999999":          "it is a number from 0 on",
		"event?step=9999":                          "steps with these choices",
		"event?step=1&do=2i.1i":                    "choices are in the order of their steps",
		"nested?do=" + strings.Repeat("1i.", 2000): "more than 1000 choices",
		"event?\x1b[31m\u202estep":                 "unknown part",
	} {
		eval[any](w, fmt.Sprintf("location.hash = '#step/' + %s; true", quoted(place)))
		w.until(fmt.Sprintf("document.querySelector('.said').textContent.includes(%q)", want))
		if said := eval[string](w, "document.querySelector('.said').textContent"); strings.ContainsAny(said, "\x1b\u202e") {
			t.Errorf("%q: %q", place, said)
		}
		w.until(`document.querySelector(".picture") !== null`)
	}
	w.harmless()
}

// harmless checks that no text of a file or an address has become a script or an element.
func (w *window) harmless() {
	w.t.Helper()
	if eval[bool](w, `window.hacked !== undefined || document.querySelector("main script, main img") !== null`) {
		w.t.Error("a name has become a part of the page")
	}
	w.quiet()
}

// TestHostileFiles drops files that are no captures, names that would be scripts, and a
// file of 10 GB.
func TestHostileFiles(t *testing.T) {
	const huge = 10 << 30
	files := map[string]string{
		"noise.bin":     strings.Repeat("\x00\xff\x7fELF<script>", 5000),
		"empty.txt":     "",
		"hostile.txt":   "<script>hacked=1</script>;<img src=x onerror=hacked=1>_[k];b_[k] 10\nplain;\x1b[31m\u202ered_[k] 5\n",
		"<img src=x>.t": "a;b_[k] 1\n",
		"torn.dat":      "\x17\x08\x44tracing6\x00\x00\x08\x00\x10\x00\x00header_page",
		"huge.dat":      "",
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if name == "huge.dat" {
			if err := os.Truncate(path, huge); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(strings.Map(func(r rune) rune {
			if strings.ContainsRune("<>= ", r) {
				return '_'
			}
			return r
		}, name), func(t *testing.T) {
			w := lab(t, "estimate", look{1280, "light"})
			w.do(chromedp.SetUploadFiles("#file", []string{path}))
			w.until(`document.querySelector(".bar button[hidden]") !== null && /[^…]$/.test(document.querySelector("main [role=status]").textContent)`)
			said := w.text("main [role=status]")
			if done := strings.HasPrefix(said, "Done"); done != strings.Contains(text, "_[k]") {
				t.Errorf("the page says %q", said)
			}
			if strings.Contains(w.text("main"), "\u202e") {
				t.Error("the direction of the text can be turned around")
			}
			w.harmless()
			if strings.HasSuffix(name, ".dat") {
				w = lab(t, "timeline", look{1280, "light"})
				w.do(chromedp.SetUploadFiles("#trace", []string{path}))
				w.until(`document.querySelector("main [role=status]").textContent.includes(".dat")`)
				if w.text(".plots") != "" {
					t.Error("there are plots")
				}
				w.harmless()
			}
		})
	}
}
