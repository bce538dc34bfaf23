package browsertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// without is the address of a server that has the page, but not the files whose names hold
// a text.
func without(t *testing.T, text string) string {
	t.Helper()
	if _, err := served(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder, "exported")
	if _, err := os.Stat(dir); err != nil {
		if _, err := ftracelab("serve", "--programs", filepath.Join(folder, "programs"), "--export", dir); err != nil {
			t.Fatal(err)
		}
	}
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text != "" && strings.Contains(r.URL.Path, text) {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestBlocked opens the page with JavaScript switched off, without its modules, and without
// a program: there is a sentence, and the rest of the page goes on.
func TestBlocked(t *testing.T) {
	w := tab(t, look{400, "light"})
	call(w, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	w.do(chromedp.Navigate(without(t, "")))
	if got := eval[string](w, "document.querySelector('main').innerText"); !strings.Contains(got, "needs JavaScript, which is switched off") {
		t.Errorf("without JavaScript the page shows %q", got)
	}
	w.picture("blocked", look{400, "light"})
	w = tab(t, look{400, "light"})
	w.do(chromedp.Navigate(without(t, "app.js")))
	if got := w.text("#blocked"); !strings.Contains(got, "has not loaded its JavaScript modules") {
		t.Errorf("without modules the page shows %q", got)
	}
	w.do(chromedp.Navigate(without(t, "stepper.js")))
	w.until(`document.querySelector("main [role=alert]")?.textContent.includes("could not be loaded")`)
	w.do(chromedp.Navigate(without(t, "step.wasm.gz")))
	w.until(`document.querySelector("main [role=alert]")?.textContent.includes("step.wasm.gz: the server says 404")`)
	eval[any](w, `location.hash = "#lessons"; true`)
	w.until(`document.querySelectorAll(".lessons a").length === 10`)
}

// TestNoMemory runs the page in a browser that gives a program 32 MiB: the time line, which
// takes more, says so, and the steps go on.
func TestNoMemory(t *testing.T) {
	tab(t, look{1280, "light"}) // skips without a browser
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(filepath.Join(folder, "small-browser")), chromedp.Flag("js-flags", "--wasm-max-mem-pages=512"))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	was := browser
	defer func() { browser = was }()
	browser, _ = chromedp.NewContext(ctx)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	w := lab(t, "timeline", look{1280, "light"})
	w.until(`[...document.querySelectorAll("button")].some(b => b.textContent.startsWith("Or a second"))`)
	eval[any](w, `[...document.querySelectorAll("button")].find(b => b.textContent.startsWith("Or a second")).click(); true`)
	w.until(`/[^…]$/.test(document.querySelector("main p[role=status]")?.textContent ?? "")`)
	if said := w.text("main p[role=status]"); !strings.Contains(said, "no memory left") {
		t.Errorf("the page says %q", said)
	}
	eval[any](w, `location.hash = "#step/event?step=3"; true`)
	w.until(`document.querySelector(".picture") !== null`)
}
