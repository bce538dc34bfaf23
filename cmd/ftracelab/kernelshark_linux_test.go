package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ftracelab/lab/timeline"
)

// TestKernelShark opens a trace.dat of ours in KernelShark, sets its markers, and looks
// at the picture: docs/kernelshark.md says what it shows. FTRACELAB_SCREENSHOT names a
// file to keep it in.
func TestKernelShark(t *testing.T) {
	if os.Getenv("FTRACELAB_CLIENTS") == "" {
		t.Skip("FTRACELAB_CLIENTS is not set: it asks for runs of KernelShark")
	}
	for _, program := range []string{"Xvfb", "kernelshark", "xdotool", "import"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	dat := filepath.Join(t.TempDir(), "trace.dat")
	ftracelab(t, "run", "busy", "--instance", "inst", "--set", "set_event=sched",
		"--set", "instances/inst/set_event=irq:* raw_syscalls:*", "--duration", "200ms", "--out", dat)

	s := startScreen(t)
	var log bytes.Buffer
	shark := exec.Command("kernelshark", "-i", dat, "--cpu", "0", "--pid", "18")
	shark.Env, shark.Stdout, shark.Stderr = s.env, &log, &log
	start(t, shark)
	window := ""
	s.until("a window of KernelShark", func() bool {
		s.do("key", "Return") // to root it says first that it is run by root
		window, _, _ = strings.Cut(s.do("search", "--onlyvisible", "--name", "Kernel Shark"), "\n")
		return window != ""
	})
	s.until("the file's name", func() bool { return strings.Contains(s.do("getwindowname", window), "trace.dat") })
	s.do("windowmove", window, "0", "0")
	s.do("windowsize", window, fmt.Sprint(screenWidth), fmt.Sprint(screenHeight))

	// The labels of the plots have the colour of their stream: the top's, of a CPU and
	// a task, and the instance's.
	s.until("plots of two streams", func() bool {
		return s.count(plots, topColour) > 3000 && s.count(plots, instanceColour) > 3000
	})
	// Plugin sched_events frames the time from waking up to running in green, and that
	// of waiting for the CPU in red.
	s.until("boxes of wake-ups", func() bool { return s.count(plots, boxGreen) > 50 && s.count(plots, boxRed) > 50 })

	sameBoxes(t, s.picture(), dat, 18)

	for x := 430; s.count(plots, markerA) < 100; x += 7 {
		s.doubleClick(x%screenWidth, s.firstRow(topColour)+12)
	}
	s.until("Marker B to be the active one", func() bool {
		s.do("mousemove", "500", "77", "click", "1", "sleep", "0.5")
		return s.count(toolbar, buttonB) > 100
	})
	for x := 900; s.count(plots, markerB) < 100; x += 7 {
		s.doubleClick(x%screenWidth, s.firstRow(instanceColour)+12)
	}
	if s.count(plots, markerA) < 100 {
		t.Error("marker A is gone")
	}
	if strings.Contains(log.String(), "ERROR") {
		t.Errorf("KernelShark says:\n%s", log.String())
	}
	if name := os.Getenv("FTRACELAB_SCREENSHOT"); name != "" {
		if err := os.WriteFile(name, s.shot(), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// sameBoxes holds the boxes of a task that KernelShark has drawn over the whole length of a
// file against those of the time line of package lab/timeline. Nearer than three points to
// the end of a box nothing is compared, as both draw a line there. What KernelShark frames in
// red is not compared: it does that also while a kernel thread sleeps in the state I.
func sameBoxes(t *testing.T, img image.Image, dat string, pid int32) {
	t.Helper()
	has := func(x, y int, c color.RGBA) bool { return color.RGBAModel.Convert(img.At(x, y)) == c }
	row, most, from, to := 0, 0, 0, 0
	for y := plots.Min.Y; y < plots.Max.Y; y++ {
		n, first, last := 0, 0, 0
		for x := plots.Min.X; x < plots.Max.X; x++ {
			if has(x, y, boxGreen) || has(x, y, boxRed) {
				n++
			}
			if has(x, y, color.RGBA{0, 0, 0, 255}) {
				last = x
				if first == 0 {
					first = x
				}
			}
		}
		if n > most {
			row, most = y, n
		}
		if y < plots.Min.Y+30 && last-first > to-from { // the axis is above all plots
			from, to = first, last
		}
	}
	var begin, end uint64 = 1 << 63, 0
	var periods timeline.Periods
	for buffer := range 2 {
		line, err := timeline.OpenBuffer(dat, buffer, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := line.Info()
		begin, end = min(begin, in.First), max(end, in.Last)
		if buffer == 0 {
			periods = line.Periods(pid)
		}
		if err := line.Close(); err != nil {
			t.Error(err)
		}
	}
	scale := float64(to-from) / float64(end-begin)
	within := func(list []timeline.Period, x int) (inside, near bool) {
		for _, p := range list {
			a, b := float64(from)+float64(p.From-begin)*scale, float64(from)+float64(p.To-begin)*scale
			inside = inside || float64(x) > a && float64(x) < b
			near = near || math.Abs(float64(x)-a) < 3 || math.Abs(float64(x)-b) < 3
		}
		return inside, near
	}
	compared, green := 0, 0
	for x := from; x < to; x++ {
		woken, near := within(periods.Woken, x)
		if near {
			continue
		}
		compared++
		if woken {
			green++
		}
		if has(x, row, boxGreen) != woken {
			t.Errorf("at point %d of %d…%d KernelShark draws green: %v, and the time line says woken: %v", x, from, to, !woken, woken)
		}
	}
	t.Logf("%d points compared, %d of them within a wake-up", compared, green)
	if green < 100 || compared-green < 100 {
		t.Errorf("only %d points were compared, %d of them green", compared, green)
	}
}

const screenWidth, screenHeight = 1400, 900

// Parts of the screen, and colours of KernelShark 2.2.
var (
	toolbar = image.Rect(0, 60, screenWidth, 98)
	plots   = image.Rect(0, 110, screenWidth, 360)

	topColour      = color.RGBA{166, 220, 245, 255}
	instanceColour = color.RGBA{172, 246, 218, 255}
	boxGreen       = color.RGBA{0, 255, 0, 255}
	boxRed         = color.RGBA{255, 0, 0, 255}
	markerA        = color.RGBA{0, 128, 0, 255}
	markerB        = color.RGBA{0, 128, 128, 255}
	buttonB        = color.RGBA{0, 91, 91, 255} // the frame of an active one
)

// screen is an X server without a screen.
type screen struct {
	t        *testing.T
	env      []string
	deadline time.Time
}

// patience is how long everything together may take on a slow computer; nothing is
// expected to happen within a certain time.
const patience = 4 * time.Minute

func startScreen(t *testing.T) *screen {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("Xvfb", "-displayfd", "3", "-nolisten", "tcp", "-screen", "0", fmt.Sprintf("%dx%dx24", screenWidth, screenHeight))
	server.ExtraFiles = []*os.File{w}
	start(t, server)
	w.Close()
	number, err := io.ReadAll(io.LimitReader(r, 16))
	if err != nil || len(number) == 0 {
		t.Fatalf("Xvfb does not say which display it is: %v", err)
	}
	r.Close()
	home := t.TempDir()
	env := append(os.Environ(), "DISPLAY=:"+strings.TrimSpace(string(number)), "HOME="+home, "XDG_RUNTIME_DIR="+home)
	return &screen{t: t, env: env, deadline: time.Now().Add(patience)}
}

// start starts a program that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// do runs xdotool; a search that finds nothing gives nothing.
func (s *screen) do(args ...string) string {
	cmd := exec.Command("xdotool", args...)
	cmd.Env = s.env
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// until repeats a look at the screen.
func (s *screen) until(what string, seen func() bool) {
	s.t.Helper()
	for !seen() {
		if time.Now().After(s.deadline) {
			s.t.Fatalf("KernelShark does not show %s", what)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// doubleClick sets the active marker, if there is an event; it takes a while to be seen.
func (s *screen) doubleClick(x, y int) {
	s.t.Helper()
	if time.Now().After(s.deadline) {
		s.t.Fatal("KernelShark does not set a marker")
	}
	s.do("mousemove", fmt.Sprint(x), fmt.Sprint(y), "click", "--repeat", "2", "--delay", "60", "1", "sleep", "1")
}

func (s *screen) shot() []byte {
	s.t.Helper()
	cmd := exec.Command("import", "-window", "root", "png:-")
	cmd.Env = s.env
	data, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("import: %v", err)
	}
	return data
}

func (s *screen) picture() image.Image {
	s.t.Helper()
	img, err := png.Decode(bytes.NewReader(s.shot()))
	if err != nil {
		s.t.Fatal(err)
	}
	return img
}

// count is the number of points of a colour.
func (s *screen) count(part image.Rectangle, c color.RGBA) int {
	s.t.Helper()
	n, img := 0, s.picture()
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

// firstRow is where the first plot begins whose label has a colour.
func (s *screen) firstRow(c color.RGBA) int {
	s.t.Helper()
	img := s.picture()
	for y := plots.Min.Y; y < plots.Max.Y; y++ {
		if color.RGBAModel.Convert(img.At(30, y)) == c {
			return y
		}
	}
	s.t.Fatalf("no plot with a label in %v", c)
	return 0
}
