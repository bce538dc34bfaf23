package browsertest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// served is the address of ftracelab serve. It is started once, with the programs built
// from the tree as it is.
var served = sync.OnceValues(func() (string, error) {
	programs := filepath.Join(folder, "programs")
	if err := os.Mkdir(programs, 0o755); err != nil {
		return "", err
	}
	build := exec.Command("go", "run", "-C", filepath.Join("..", ".."), "./lab/web/build", programs)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs of the page: %w\n%s", err, out)
	}
	server = exec.Command(program, "serve", "--programs", programs)
	out, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(address), err
})

// server is the process of served; nil: it was not started.
var server *exec.Cmd

// lab opens a part of the lab and waits until it is shown.
func lab(t *testing.T, part string, l look) *window {
	t.Helper()
	if browser != nil { // so that the time of a tab does not go by while the programs are built
		if _, err := served(); err != nil {
			t.Fatal(err)
		}
	}
	w := tab(t, l)
	address, err := served()
	if err != nil {
		t.Fatal(err)
	}
	w.home = address
	w.do(chromedp.Navigate(address + "#" + part))
	w.until(`document.documentElement.classList.contains("ready")`)
	return w
}

// until waits until an expression is true.
func (w *window) until(expression string) {
	w.t.Helper()
	if _, err := chromedp.Run(w.ctx, chromedp.Poll[bool](expression)); err != nil {
		w.t.Fatalf("%s: %v\n%q\n%s", expression, err, w.reported(), eval[string](w, "document.body.innerText.slice(0, 2000)"))
	}
}

// press presses a key.
func (w *window) press(key string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(key))
}

// TestStepper walks through a scenario with keys and buttons. Each step shows the bytes
// that a terminal shows for the same place.
func TestStepper(t *testing.T) {
	w := lab(t, "step/nested?step=0", look{1280, "light"})
	same := func(place string) {
		t.Helper()
		w.until(fmt.Sprintf("document.getElementById('line').textContent.includes(%q)", place))
		out, err := ftracelab("step", "--url", place, "--view", "page", "--format", "svg")
		if err != nil {
			t.Fatal(err)
		}
		want := eval[string](w, fmt.Sprintf("new DOMParser().parseFromString(%s, 'image/svg+xml').documentElement.textContent.replace(/\\s+/g, ' ')", quoted(string(out))))
		w.until(`[...document.querySelectorAll(".pictures section")].some(s => s.ariaLabel === "page")`)
		got := eval[string](w, `(() => { const p = [...document.querySelectorAll(".pictures section")].find(s => s.ariaLabel === "page"); return p.querySelector(".picture").shadowRoot.querySelector("svg").textContent.replace(/\s+/g, ' '); })()`)
		if got != want {
			t.Errorf("%s: the page shows\n%s\nand the terminal\n%s", place, got, want)
		}
	}
	same("nested?step=0&v=1")
	for range 9 {
		before := eval[string](w, "document.getElementById('line').textContent")
		w.press(kb.ArrowRight)
		w.until(fmt.Sprintf("document.getElementById('line').textContent !== %q", before))
	}
	same("nested?step=9&v=1")
	w.press("i")
	same("nested?do=9i&step=10&v=1")
	w.press(kb.End)
	w.until(`document.querySelector("output").textContent.split(" of ")[0] === document.querySelector("output").textContent.split(" of ")[1]`)
	w.press("u")
	same("nested?step=9&v=1")
	w.press(kb.Home)
	same("nested?step=0&v=1")
	w.quiet()
}

// quoted is a string as JavaScript reads it.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// text is what an element shows.
func (w *window) text(selector string) string {
	w.t.Helper()
	return eval[string](w, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// solutions finds the solution of a lesson's exercise in its text.
var solutions = regexp.MustCompile(`(?m)^solution: (?:\|\n((?:  .*\n)+)|(.*)\n)`)

// TestLessons goes through each lesson: of the answers that are offered exactly one is right,
// and the solution of the exercise is accepted.
func TestLessons(t *testing.T) {
	w := lab(t, "lessons", look{1280, "light"})
	w.until(`document.querySelectorAll(".lessons a").length === 10`)
	texts, err := filepath.Glob(filepath.Join("..", "..", "lab", "lessons", "texts", "*.md"))
	if err != nil || len(texts) != 10 {
		t.Fatal(texts, err)
	}
	for n, file := range texts {
		eval[any](w, fmt.Sprintf("location.hash = '#lesson/%d'; true", n+1))
		w.until(fmt.Sprintf("document.querySelector('h2')?.textContent.startsWith('Lesson %d:')", n+1))
		w.picture(fmt.Sprintf("lesson-%d", n+1), look{1280, "light"})
		questions := eval[int](w, `document.querySelectorAll(".question:not(.exercise)").length`)
		if questions < 2 {
			t.Errorf("lesson %d: %d questions", n+1, questions)
		}
		for q := range questions {
			form := fmt.Sprintf(`document.querySelectorAll(".question:not(.exercise)")[%d]`, q)
			answer := func(set string) string {
				t.Helper()
				eval[any](w, fmt.Sprintf(`(() => { const f = %s; f.querySelector("[role=status]").textContent = ""; %s; f.requestSubmit(); return true; })()`, form, set))
				w.until(form + `.querySelector("[role=status]").textContent.length > 3`)
				return eval[string](w, form+`.querySelector("[role=status]").textContent`)
			}
			choices := eval[int](w, form+`.querySelectorAll("[type=radio]").length`)
			if choices == 0 {
				if said := answer(`f.querySelector("input").value = "nonsense"`); strings.HasPrefix(said, "Right") {
					t.Errorf("lesson %d: nonsense is right: %s", n+1, said)
				}
				continue
			}
			right := 0
			for c := range choices {
				if strings.HasPrefix(answer(fmt.Sprintf(`f.querySelectorAll("[type=radio]")[%d].checked = true`, c)), "Right") {
					right++
				}
			}
			if right != 1 {
				t.Errorf("lesson %d: %d of %d answers are right", n+1, right, choices)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := solutions.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no solution", file)
		}
		solution := regexp.MustCompile("(?m)^  ").ReplaceAllString(string(m[1]), "") + strings.Trim(string(m[2]), "'\"")
		eval[any](w, fmt.Sprintf(`(() => { const f = document.querySelector(".exercise"); f.querySelector("textarea").value = %s; f.requestSubmit(); return true; })()`, quoted(solution)))
		w.until(`document.querySelector(".exercise [role=status]").textContent.length > 3`)
		if said := eval[string](w, `document.querySelector(".exercise [role=status]").textContent`); !strings.HasPrefix(said, "Right") {
			t.Errorf("lesson %d, %q: %s", n+1, solution, said)
		}
	}
	w.quiet()
}

// question finds a place of the page and what is quoted of it in docs/lessons/README.md.
var question = regexp.MustCompile(`(?s)--view (\S+)` + "`.*?`#(step/\\S+)`" + `.*?> (.*?)\n`)

// TestQuestions opens the place of each of the ten questions: what is quoted stands there,
// and its lesson can be opened as well.
func TestQuestions(t *testing.T) {
	w := lab(t, "lessons", look{1280, "light"})
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "lessons", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := question.FindAllStringSubmatch(string(text), -1)
	if len(found) != 10 {
		t.Fatalf("%d places of questions", len(found))
	}
	for _, m := range found {
		view, place, quote := m[1], m[2], m[3]
		eval[any](w, fmt.Sprintf("location.hash = %q; true", "#"+place))
		w.until(fmt.Sprintf("document.getElementById('line')?.textContent.includes(%q)", strings.TrimPrefix(place, "step/")))
		if view != "step" {
			eval[any](w, fmt.Sprintf(`(() => { const b = [...document.querySelectorAll(".views label")].find(l => l.textContent.trim() === %q).querySelector("input"); if (!b.checked) b.click(); return true; })()`, view))
			w.until(fmt.Sprintf(`[...document.querySelectorAll(".pictures section")].some(s => s.ariaLabel === %q)`, view))
			w.press("t") // as text
			w.until(`document.querySelector(".pictures pre") !== null`)
		}
		shown := eval[string](w, `[...document.querySelectorAll(".told, .pictures pre")].map(e => e.textContent).join(" ")`)
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), quote) {
			t.Errorf("%s does not show %q but\n%s", place, quote, shown)
		}
	}
	w.quiet()
}

// TestShell types a session: completion, history, an endless command that Ctrl-C ends.
func TestShell(t *testing.T) {
	w := lab(t, "shell", look{1280, "light"})
	screen := `[...document.querySelectorAll(".xterm-accessibility-tree div")].map(d => d.textContent).join("\n")`
	w.until(screen + `.includes("/sys/kernel/tracing #")`)
	typed := func(text string) { w.do(chromedp.KeyEvent(text)) }
	typed("echo function_gr\t > current_tr\t\r")
	typed("sleep .001; head -4 trace\r")
	w.until(screen + `.includes("# tracer: function_graph")`)
	typed("less /proc/kallsyms\r")
	w.until(screen + `.includes("-- more: Space")`)
	typed(" q")
	typed("echo paged-$?\r")
	w.until(screen + `.includes("paged-0")`)
	typed("while true; do echo x > trace_marker; done\r")
	w.do(chromedp.Sleep(300 * time.Millisecond))
	interrupt := func(n int) {
		t.Helper()
		eval[any](w, `document.querySelector(".xterm-helper-textarea").dispatchEvent(new KeyboardEvent("keydown", { key: "c", code: "KeyC", keyCode: 67, ctrlKey: true, bubbles: true })); true`)
		typed(fmt.Sprintf("echo %d-status=$?\r", n))
		w.until(screen + fmt.Sprintf(`.includes("%d-status=130")`, n))
	}
	interrupt(0)
	w.picture("shell", look{1280, "light"})
	// Ctrl-C ends what is one command for the shell, and the shell goes on.
	for n, endless := range []string{
		"sleep 1000", "sleep 1000 | cat", "while :; do x=1; done", "for ((;;)); do ((i++)); done", "awk 'BEGIN { while (1) i++ }'", "cat trace_pipe", "yes",
	} {
		typed(endless + "\r")
		w.do(chromedp.Sleep(500 * time.Millisecond))
		interrupt(n + 1)
	}
	w.quiet()
}

// TestDrop opens a capture in the page. What it prints is what estimate prints.
func TestDrop(t *testing.T) {
	w := lab(t, "estimate", look{1280, "light"})
	if _, err := ftracelab("run", "mix", "--out", "dropped.dat", "--set", "set_event=kmem", "--set", "options/stacktrace=1", "--duration", "200ms"); err != nil {
		t.Fatal(err)
	}
	w.do(chromedp.SetUploadFiles("#file", []string{filepath.Join(folder, "dropped.dat")}))
	w.until(`!document.querySelector("pre[aria-label]").hidden && document.querySelector("iframe") !== null`)
	want, err := ftracelab("estimate", "dropped.dat")
	if err != nil {
		t.Fatal(err)
	}
	got := eval[string](w, `document.querySelector("pre[aria-label]").textContent`)
	if strings.ReplaceAll(got, "/dropped/", "") != string(want) {
		t.Errorf("the page says\n%s\nand estimate\n%s", got, want)
	}
	w.do(chromedp.Sleep(2 * time.Second))
	w.picture("estimate", look{1280, "light"})
	w.quiet()
}

// TestTimeline opens a trace.dat: its rows are those that report prints. It searches,
// filters, marks and plots a task.
func TestTimeline(t *testing.T) {
	w := lab(t, "timeline", look{1280, "light"})
	if _, err := ftracelab("run", "mix", "--out", "line.dat", "--set", "set_event=sched irq", "--duration", "300ms"); err != nil {
		t.Fatal(err)
	}
	w.do(chromedp.SetUploadFiles("#trace", []string{filepath.Join(folder, "line.dat")}))
	w.until(`document.querySelectorAll(".timeline tbody tr").length === 16`)
	printed, err := ftracelab("report", "line.dat")
	if err != nil {
		t.Fatal(err)
	}
	var infos []string
	for _, line := range strings.Split(string(printed), "\n")[1:17] {
		infos = append(infos, strings.Join(strings.Fields(line[strings.Index(line, "]")+1:])[2:], " "))
	}
	got := eval[[]string](w, `[...document.querySelectorAll(".timeline tbody tr")].map(r => r.cells[4].textContent.trim().replace(/\s+/g, " "))`)
	for i := range infos {
		if got[i] != infos[i] {
			t.Errorf("row %d: %q, and report prints %q", i, got[i], infos[i])
		}
	}
	eval[any](w, `document.querySelector("#tl-text").value = "irq_handler_entry"; [...document.querySelectorAll(".timeline button")].find(b => b.textContent === "Next").click(); true`)
	w.until(`document.querySelector(".timeline tr[aria-current]")?.cells[3].textContent === "irq_handler_entry"`)
	click := func(text string) {
		t.Helper()
		eval[any](w, fmt.Sprintf(`[...document.querySelectorAll(".timeline button")].find(b => b.textContent === %q).click(); true`, text))
	}
	click("Mark A")
	eval[any](w, `document.querySelector(".plots").focus(); true`)
	w.press("n")
	click("Mark B")
	w.until(`document.querySelector(".marks").textContent.includes("from A to B")`)
	eval[any](w, `document.querySelector(".timeline details").open = true; [...document.querySelector("#tl-kinds").options].forEach(o => o.selected = o.textContent.startsWith("sched/sched_switch ")); true`)
	times := func(of string) []string {
		t.Helper()
		eval[any](w, fmt.Sprintf(`(() => { const s = document.querySelector("#tl-times"); s.value = %q; s.dispatchEvent(new Event("change")); return true; })()`, of))
		w.until(fmt.Sprintf(`document.querySelector(".timeline th").textContent === %q && document.querySelector(".timeline td").textContent.endsWith(" s") === %v`, map[string]string{"clock": "Time", "first": "Since the first"}[of], of == "first"))
		return eval[[]string](w, `[...document.querySelectorAll(".timeline tbody tr")].map(r => r.cells[0].textContent)`)
	}
	for _, at := range times("clock") {
		if !strings.Contains(string(printed), " "+at+": ") {
			t.Errorf("report prints no event at %s", at)
		}
	}
	times("first")
	click("Keep only what is chosen")
	w.until(`document.querySelector(".timeline [role=status]").textContent.includes("are kept")`)
	w.until(`[...document.querySelectorAll(".timeline tbody tr")].every(r => r.cells[3].textContent === "sched_switch")`)
	eval[any](w, `[...document.querySelector("#tl-tasks").options].forEach((o, i) => o.selected = i > 0 && i < 5); true`)
	click("Plot the chosen tasks")
	w.do(chromedp.Sleep(time.Second))
	w.picture("timeline", look{1280, "light"})
	w.quiet()
}

// TestInstances opens a trace.dat with two instances: the events of all buffers are there in
// the order of time, each with its buffer, as report prints them. It keeps one buffer, finds
// an event of another, and then chooses one alone. One file is of ftracelab, and one of trace-cmd.
func TestInstances(t *testing.T) {
	record := map[string][]string{
		"run": {
			"run", "mix", "--out", "run.dat", "--instance", "calls", "--instance", "ticks", "--set", "set_event=sched",
			"--set", "instances/calls/set_event=irq", "--set", "instances/ticks/set_event=timer", "--duration", "100ms",
		},
		"trace-cmd": {"exec", "--", "trace-cmd", "record", "-o", "trace-cmd.dat", "-e", "sched", "-B", "calls", "-e", "irq", "-B", "ticks", "-e", "timer", "sleep", "0.3"},
	}
	for by, l := range map[string]look{"run": {1280, "light"}, "trace-cmd": {400, "dark"}} {
		t.Run(by, func(t *testing.T) {
			w := lab(t, "timeline", l)
			if _, err := exec.LookPath("trace-cmd"); by == "trace-cmd" && err != nil && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			if _, err := ftracelab(record[by]...); err != nil {
				t.Fatal(err)
			}
			w.instances(l, by+".dat")
		})
	}
}

func (w *window) instances(l look, file string) {
	w.t.Helper()
	w.do(chromedp.SetUploadFiles("#trace", []string{filepath.Join(folder, file)}))
	w.until(`document.querySelectorAll(".timeline tbody tr").length === 16`)
	printed, err := ftracelab("report", file)
	if err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]int{}
	var want [][]string // the buffer and the event of each row
	for line := range strings.Lines(string(printed)) {
		where, what, ok := strings.Cut(line, "]")
		if !ok {
			continue
		}
		buffer := ""
		if where[0] != ' ' {
			buffer, _, _ = strings.Cut(where, ":")
		}
		counts[buffer]++
		want = append(want, []string{buffer, strings.TrimSuffix(strings.Fields(what)[1], ":"), strings.Join(strings.Fields(what)[2:], " ")})
	}
	summary := w.text(".timeline p")
	for name, n := range map[string]int{"the top buffer": counts[""], "calls": counts["calls"], "ticks": counts["ticks"]} {
		if want := name + " " + commas(n); !strings.Contains(summary, "in 3 buffers: ") || !strings.Contains(summary, want) {
			w.t.Errorf("the page says %q, want %q", summary, want)
		}
	}
	buffers := `[...document.querySelectorAll(".timeline tbody tr")].map(r => r.cells[2].textContent)`
	rows := func() [][]string {
		w.t.Helper()
		return eval[[][]string](w, `[...document.querySelectorAll(".timeline tbody tr")].map(r => [2, 4, 5].map(i => r.cells[i].textContent.trim().replace(/\s+/g, " ")))`)
	}
	seen := map[string]bool{}
	for at := 0; at+16 < len(want); at += len(want) / 5 {
		eval[any](w, fmt.Sprintf(`(() => { const s = document.querySelector(".timeline input[type=range]"); s.value = %d; s.dispatchEvent(new Event("input")); return true; })()`, at))
		w.until(fmt.Sprintf(`document.querySelector(".timeline").dataset.first === "%d"`, at))
		for i, row := range rows() {
			if seen[row[0]] = true; !slices.Equal(row, want[at+i]) {
				w.t.Errorf("row %d: %q, and report prints %q", at+i, row, want[at+i])
			}
		}
	}
	if len(seen) != 3 {
		w.t.Errorf("the rows are of the buffers %v", seen)
	}
	click := func(text string) {
		w.t.Helper()
		eval[any](w, fmt.Sprintf(`[...document.querySelectorAll(".timeline button")].find(b => b.textContent === %q).click(); true`, text))
	}
	eval[any](w, `document.querySelector(".timeline details").open = true; [...document.querySelector("#tl-buffers").options].forEach(o => o.selected = o.textContent.startsWith("ticks ")); true`)
	click("Keep only what is chosen")
	w.until(fmt.Sprintf(`document.querySelector(".timeline [role=status]").textContent.startsWith("%s of ")`, commas(counts["ticks"])))
	w.until(buffers + `.every(b => b === "ticks")`)
	click("Keep all")
	w.until(`new Set(` + buffers + `).size > 1`)
	eval[any](w, `document.querySelector("#tl-text").value = "irq_handler_entry"; [...document.querySelectorAll(".timeline button")].find(b => b.textContent === "Next").click(); true`)
	w.until(`document.querySelector(".timeline tr[aria-current]")?.cells[2].textContent === "calls"`)
	if got := eval[int64](w, "document.scrollingElement.scrollWidth"); got > l.width {
		w.t.Errorf("the page is %d wide", got)
	}
	w.axe()
	w.picture("timeline-together", l)

	if got := w.text("label[for=buffer]") + eval[string](w, `[...document.querySelector("#buffer").options].map(o => o.textContent).join(", ")`); got != "The events ofall buffers together, the top buffer, calls, ticks" && got != "The events ofall buffers together, the top buffer, ticks, calls" {
		w.t.Errorf("the choice of a buffer is %q", got)
	}
	eval[any](w, `(() => { const s = document.querySelector("#buffer"); s.value = [...s.options].find(o => o.textContent === "calls").value; s.dispatchEvent(new Event("change")); return true; })()`)
	w.until(`/^(soft)?irq_/.test(document.querySelector(".timeline tbody tr")?.cells[3].textContent)`)
	eval[any](w, `document.querySelector("#buffer").scrollIntoView(); true`)
	if got := eval[string](w, `document.querySelector("#buffer").selectedOptions[0].textContent`); got != "calls" {
		w.t.Errorf("%q is chosen", got)
	}
	if got := eval[int](w, `document.querySelectorAll(".timeline th").length`); got != 5 {
		w.t.Errorf("a buffer alone has %d columns", got)
	}
	w.picture("timeline-instance", l)
	w.quiet()
}

// TestOtherClock opens a file with an instance that has another clock: a sentence says why
// its events are not among the others.
func TestOtherClock(t *testing.T) {
	w := lab(t, "timeline", look{1280, "light"})
	if _, err := ftracelab("run", "mix", "--out", "clocks.dat", "--instance", "other", "--set", "set_event=sched",
		"--set", "instances/other/set_event=irq", "--set", "instances/other/trace_clock=global", "--duration", "50ms"); err != nil {
		t.Fatal(err)
	}
	w.do(chromedp.SetUploadFiles("#trace", []string{filepath.Join(folder, "clocks.dat")}))
	w.until(`document.querySelectorAll(".timeline tbody tr").length === 16`)
	if got := w.text(".timeline p"); !strings.Contains(got, `the instance "other" has the clock "global", and the top buffer has "local": their times cannot be compared`) {
		t.Errorf("the page says %q", got)
	}
	if got := eval[int](w, `document.querySelectorAll(".timeline th").length`); got != 5 {
		t.Errorf("one buffer has %d columns", got)
	}
	w.quiet()
}

var axe = flag.String("axe", "", "axe.min.js of axe-core, whose rules TestLabLooks then applies as well")

var million = flag.Bool("million", false, "measure the page: its first step, and a time line of a million events")

// TestTimes measures the page. It asserts nothing, since a test does not know how fast its
// computer is.
func TestTimes(t *testing.T) {
	if !*million {
		t.Skip("only with -million")
	}
	if _, err := served(); err != nil {
		t.Fatal(err)
	}
	w := lab(t, "step/event?step=0", look{1280, "light"})
	t.Logf("first picture after %.0f ms, first step after %.0f ms",
		eval[float64](w, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), eval[float64](w, `performance.getEntriesByName("step")[0].startTime`))
	w = lab(t, "step/storm?step=last", look{1280, "light"})
	total := eval[int](w, `Number(document.querySelector("#step").max)`)
	var back []float64
	for i := range 20 {
		from := eval[float64](w, `performance.now()`)
		eval[any](w, `dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" })); true`)
		w.until(fmt.Sprintf(`document.querySelector("#step").value === "%d"`, total-1-i))
		back = append(back, eval[float64](w, `performance.getEntriesByName("step").at(-1).startTime`)-from)
	}
	slices.Sort(back)
	t.Logf("a step back from step %d took %.0f ms, half of them %.0f, at most %.0f", total, back[0], back[len(back)/2], back[len(back)-1])
	if _, err := ftracelab("run", "busy", "--out", "million.dat", "--set", "set_event=sched irq timer syscalls kmem", "--set", "buffer_size_kb=100000", "--duration", "24s"); err != nil {
		t.Fatal(err)
	}
	w = lab(t, "timeline", look{1280, "light"})
	// The longest that anything else had to wait while the file was read.
	eval[any](w, `window.longest = 0; let last = performance.now(); window.tick = setInterval(() => { const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 5); true`)
	w.do(chromedp.SetUploadFiles("#trace", []string{filepath.Join(folder, "million.dat")}))
	w.until(`performance.getEntriesByName("timeline-all").length > 0`)
	t.Logf("%s %s", w.text("main p[role=status]"), w.text(".timeline p"))
	t.Logf("the page stood still for %.0f ms at most", eval[float64](w, `longest`))
	durations := `performance.getEntriesByName("plots").map(m => m.duration).sort((a, b) => a - b)`
	drawn := func(what, button string) {
		t.Helper()
		eval[any](w, `performance.clearMeasures("plots"); true`)
		for range 20 {
			was := eval[int](w, durations+".length")
			eval[any](w, fmt.Sprintf(`[...document.querySelectorAll(".timeline button")].find(b => b.textContent === %q).click(); true`, button))
			w.until(fmt.Sprintf(durations+".length > %d", was))
		}
		times := eval[[]float64](w, durations)
		t.Logf("the plots, %s: %.1f ms, half of them %.1f, at most %.1f", what, times[0], times[len(times)/2], times[len(times)-1])
	}
	drawn("all of it", "All")
	drawn("zooming in", "+")
	eval[any](w, `window.rows = null; (async () => {
		const times = [], place = document.querySelector(".timeline input[type=range]"), first = () => document.querySelector(".timeline tbody tr")
		for (let i = 1; i <= 20; i++) {
			const from = performance.now(), was = first()
			place.value = i * 40000
			place.dispatchEvent(new Event("input"))
			while (first() === was) await new Promise((r) => setTimeout(r, 0))
			times.push(performance.now() - from)
		}
		window.rows = times.sort((a, b) => a - b)
	})(); true`)
	w.until(`window.rows !== null`)
	rows := eval[[]float64](w, `window.rows`)
	t.Logf("another place of the list: %.1f ms, half of them %.1f, at most %.1f", rows[0], rows[len(rows)/2], rows[len(rows)-1])
}

// parts are parts of the lab and what says that each is shown.
var parts = []struct{ name, shown string }{
	{"step/event?step=last", `document.querySelectorAll(".picture").length >= 2`},
	{"step/overwrite?step=last", `document.querySelectorAll(".picture").length >= 2`},
	{"step/nested?do=9i&step=12", `document.querySelectorAll(".picture").length >= 2`},
	{"step/probe?step=last", `document.querySelectorAll(".picture").length >= 1`},
	{"step/race?step=last", `document.querySelectorAll(".picture").length >= 1`},
	{"step/shadow?step=12", `document.querySelectorAll(".picture").length >= 1`},
	{"step/cookies?step=last", `document.querySelectorAll(".picture").length >= 1`},
	{"step/hist?step=last", `document.querySelectorAll(".picture").length >= 1`},
	{"step/tracefs?step=last", `document.querySelectorAll(".picture").length >= 1`},
	{"lessons", `document.querySelectorAll(".lessons a").length === 10`},
	{"lesson/2", `document.querySelectorAll(".question").length > 2`},
	{"shell", `document.querySelector(".xterm-accessibility-tree")?.textContent.includes("tracing #")`},
	{"estimate", `document.querySelector("#file") !== null`},
	{"timeline", `document.querySelector(".plots") !== null`},
}

// TestLabLooks looks at each part, wide and narrow, light and dark: nothing is wider than
// the window, texts have contrast, and whatever can be operated has a name.
func TestLabLooks(t *testing.T) {
	for _, l := range []look{{1280, "light"}, {1280, "dark"}, {400, "light"}, {400, "dark"}} {
		for _, p := range parts {
			t.Run(fmt.Sprintf("%s %d %s", p.name, l.width, l.scheme), func(t *testing.T) {
				w := lab(t, p.name, l)
				if p.name == "timeline" {
					eval[any](w, `[...document.querySelectorAll("button")].find(b => b.textContent.startsWith("Or a second")).click(); true`)
				}
				w.until(p.shown)
				eval[any](w, looksJS+"; true")
				if got := eval[int64](w, "document.scrollingElement.scrollWidth"); got > l.width {
					t.Errorf("the page is %d wide", got)
				}
				for _, text := range eval[[]struct {
					Text  string
					Ratio float64
				}](w, "contrasts()") {
					if text.Ratio < contrast {
						t.Errorf("contrast %.2f: %.60q", text.Ratio, text.Text)
					}
				}
				for _, s := range eval[[]string](w, nameless) {
					t.Errorf("has no name: %s", s)
				}
				w.axe()
				if levels := eval[string](w, `[...document.querySelectorAll("h1,h2,h3,h4")].map(h => h.tagName[1]).join("")`); !strings.HasPrefix(levels, "12") || strings.Contains(levels, "24") {
					t.Errorf("the headings have the levels %s", levels)
				}
				name := strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(p.name)
				w.picture("lab-"+name, l)
				w.quiet()
			})
		}
	}
}

// axe applies the rules of axe-core, if its file is given.
func (w *window) axe() {
	w.t.Helper()
	if *axe == "" {
		return
	}
	text, err := os.ReadFile(*axe)
	if err != nil {
		w.t.Fatal(err)
	}
	eval[any](w, string(text)+"; window.found = undefined; axe.run().then(r => { window.found = r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')) }); true")
	w.until("window.found !== undefined")
	for _, found := range eval[[]string](w, "window.found") {
		w.t.Errorf("axe: %.300s", found)
	}
}

// nameless lists what can be operated or stands for a picture and has nothing that a screen
// reader could say.
const nameless = `[...document.querySelectorAll("a, button, input, select, textarea, canvas, iframe, [tabindex='0'], [role=img]")].filter(e => {
  if (e.closest("[hidden], .xterm") || e.checkVisibility && !e.checkVisibility() || /^(PRE|TR)$/.test(e.tagName)) return false;
  const labels = e.labels ? [...e.labels].map(l => l.textContent).join("") : "";
  return !(e.getAttribute("aria-label") || e.title || labels || e.textContent).trim();
}).map(e => e.outerHTML.slice(0, 80))`
