package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is the path of the browser; empty: there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser is the one that runs; nil: there is none. TestMain starts it.
var browser context.Context

// startBrowser starts the browser at that path, whose files are in dir.
func startBrowser(path, dir string) (stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(dir), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	browser, _ = chromedp.NewContext(ctx)
	return end, chromedp.Do(browser)
}

// window is one page in a tab of its own.
type window struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // of what the browser reports
	requests []string
	errors   []string
	home     string // the address of the server of the page, if it has one
}

// look is how a page is looked at.
type look struct {
	width  int64
	scheme string // light or dark
}

// open opens a page and waits until its charts are drawn.
func open(t *testing.T, page string, l look) *window {
	t.Helper()
	w := tab(t, l)
	w.do(chromedp.Navigate("file://" + filepath.Join(folder, page)))
	run(w, chromedp.Poll[bool](`document.documentElement.classList.contains("drawn") && Array.from(document.querySelectorAll(".chart")).every(c => c.querySelector("svg"))`))
	return w
}

// tab opens an empty tab. Without a browser the test is skipped, or fails with CI=true.
func tab(t *testing.T, l look) *window {
	t.Helper()
	if browser == nil && os.Getenv("CI") == "true" {
		t.Fatal("no Chromium in PATH")
	}
	if browser == nil {
		t.Skip("no Chromium in PATH: the pages are not operated in a browser")
	}
	ctx, cancel := chromedp.NewContext(browser) // a tab of its own
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	w := &window{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, w.listen); err != nil {
		t.Fatal(err)
	}
	call(w, network.Enable, network.EnableParams{})
	call(w, log.Enable, cdp.Empty{})
	call(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}})
	w.do(chromedp.EmulateViewport(l.width, 900))
	return w
}

// reported are the errors that the browser has told of.
func (w *window) reported() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.errors...)
}

// listen keeps what the browser reports: requests, errors of scripts, and what the policy
// of the page has forbidden.
func (w *window) listen(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		w.errors = append(w.errors, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.LineNumber))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			w.errors = append(w.errors, e.Entry.Text)
		}
	}
}

// do runs actions that have no value.
func (w *window) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

// run runs an action and returns its value.
func run[T any](w *window, action chromedp.Action[T]) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, action)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// eval is the value of an expression on the page.
func eval[T any](w *window, expression string) T {
	w.t.Helper()
	return run(w, chromedp.Evaluate[T](expression))
}

// call sends a command to the browser.
func call[P, R any](w *window, command cdp.Command[P, R], params P) {
	w.t.Helper()
	if _, err := chromedp.Call(w.ctx, command, params); err != nil {
		w.t.Fatal(err)
	}
}
