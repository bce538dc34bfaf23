package browsertest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// looksJS has the functions that look at a page.
//
//go:embed testdata/looks.js
var looksJS string

// What a page has to keep to: its length in bytes, and the contrast of its texts (WCAG 2.1,
// level AA).
const (
	largest  = 1_200_000
	contrast = 4.5
)

// TestLooks looks at each page, wide and narrow, light and dark.
func TestLooks(t *testing.T) {
	for _, page := range pages {
		for _, l := range []look{{1280, "light"}, {1280, "dark"}, {400, "light"}, {400, "dark"}} {
			t.Run(fmt.Sprintf("%s %d %s", page, l.width, l.scheme), func(t *testing.T) {
				w := open(t, page, l)
				eval[any](w, looksJS+"; true")
				if got := eval[int64](w, "document.scrollingElement.scrollWidth"); got > l.width {
					t.Errorf("the page is %d wide", got)
				}
				for _, s := range eval[[]string](w, "clipped()") {
					t.Errorf("clipped: %s", s)
				}
				texts := eval[[]struct {
					Text  string
					Ratio float64
				}](w, "contrasts()")
				if len(texts) < 50 {
					t.Errorf("only %d texts", len(texts))
				}
				for _, text := range texts {
					if text.Ratio < contrast {
						t.Errorf("contrast %.2f: %.60q", text.Ratio, text.Text)
					}
				}
				if dark := eval[float64](w, "luminance(background(document.body))") < 0.2; dark != (l.scheme == "dark") {
					t.Errorf("the background is dark: %v", dark)
				}
				w.quiet()
				w.picture(strings.TrimSuffix(page, ".html"), l)
			})
		}
	}
}

// quiet: the page has loaded nothing but itself, and no script has failed.
func (w *window) quiet() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		w.t.Error("no request was seen, not even that of the page")
	}
	for _, url := range w.requests {
		own := w.home != "" && (strings.HasPrefix(url, w.home) || strings.HasPrefix(url, "blob:"+w.home))
		if !own && !strings.HasPrefix(url, "file://"+folder) && !strings.HasPrefix(url, "data:") {
			w.t.Errorf("a request to %s", url)
		}
	}
	for _, e := range w.errors {
		w.t.Errorf("the browser says: %s", e)
	}
}

// picture keeps what the page looks like, if -pictures says where.
func (w *window) picture(name string, l look) {
	w.t.Helper()
	if *pictures == "" {
		return
	}
	png := run(w, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("%s-%d-%s.png", name, l.width, l.scheme)), png, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// TestSize: a page is small enough to be sent by mail.
func TestSize(t *testing.T) {
	if chromium() == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium in PATH")
		}
		t.Skip("no Chromium in PATH: no pages were made")
	}
	for _, page := range pages {
		info, err := os.Stat(filepath.Join(folder, page))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() >= largest {
			t.Errorf("%s has %d bytes", page, info.Size())
		}
	}
}
