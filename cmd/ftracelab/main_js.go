package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	stepping "ftracelab/lab"
	"ftracelab/lab/lessons"
	"ftracelab/lab/web/answer"
	"ftracelab/machine"
	"ftracelab/tracefsfs/shell"
)

// Built for js/wasm, ftracelab is the program of the page of package lab/web that has the
// simulated machine: the shell, the lessons and the steps that need one. It has no command
// line, as each command makes it larger.
func main() {
	stepping.UseConsole(bootConsole)
	s := &pageServer{ctx: context.Background()}
	calls := answer.Calls()
	for name, call := range map[string]answer.Call{
		"lessons": s.lessons, "lesson": s.lesson, "judge": s.judge,
		"shell": s.shell, "type": s.typed, "resize": s.resize,
	} {
		calls[name] = call
	}
	answer.Serve(calls)
}

// pageServer is what the page can ask.
type pageServer struct {
	ctx    context.Context
	screen *pageScreen
}

func (s *pageServer) lessons([]string) (any, error) {
	type row struct {
		Number  int    `json:"number"`
		Title   string `json:"title"`
		Minutes int    `json:"minutes"`
		Goal    string `json:"goal"`
	}
	var all []row
	for _, l := range lessons.All() {
		all = append(all, row{l.Number, l.Title, l.Minutes, l.Goal})
	}
	return all, nil
}

func findLesson(args []string) (*lessons.Lesson, error) {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of a lesson", args[0])
	}
	return lessons.Find(n)
}

func (s *pageServer) lesson(args []string) (any, error) {
	l, err := findLesson(args)
	if err != nil {
		return nil, err
	}
	return l.Page(s.ctx, bootLesson)
}

func (s *pageServer) judge(args []string) (any, error) {
	l, err := findLesson(args)
	if err != nil {
		return nil, err
	}
	return l.Judge(s.ctx, bootLesson, args[1], args[2])
}

// shell is an interactive session on the page's terminal: columns, lines, and the lines
// of earlier sessions. It answers with the status of the shell.
func (s *pageServer) shell(args []string) (any, error) {
	if s.screen != nil {
		return nil, errors.New("there is a shell already")
	}
	s.screen = newPageScreen()
	if _, err := s.resize(args[:2]); err != nil {
		return nil, err
	}
	f := shellFlags{memory: shell.DefaultMemory}
	f.lab = labFlags{cpus: defaultCPUs, seed: 1, preset: "documented", fprobe: "6.12", own: true, console: s.screen, wait: shell.WaitForTime}
	l, err := f.lab.build("")
	if err != nil {
		return nil, err
	}
	cfg := l.shellConfig(f.lab.cpus)
	cfg.Screen, cfg.Stdin, cfg.Stdout, cfg.Stderr, cfg.Terminal = s.screen, s.screen, s.screen, s.screen, s.screen
	cfg.Seed = f.lab.seed
	cfg.History = strings.Split(strings.TrimSpace(args[2]), "\n")
	cfg.Keep = func(line string) { answer.Say("history", line) }
	cfg.Command, cfg.Within = func([]string) { breathe() }, breathing
	cfg.Sleep = func(ctx context.Context, d time.Duration) error {
		return l.run(breathing(ctx), machine.Time(d.Nanoseconds()))
	}
	sh, err := shell.New(cfg)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.screen, "seed %d, %d CPUs; help lists the commands, explain says what a thing is\n", f.lab.seed, f.lab.cpus)
	return sh.Interactive(s.ctx)
}

func (s *pageServer) typed(args []string) (any, error) {
	if s.screen != nil {
		s.screen.typed(args[0])
	}
	return nil, nil
}

func (s *pageServer) resize(args []string) (any, error) {
	w, err1 := strconv.Atoi(args[0])
	h, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if s.screen != nil {
		s.screen.resize(w, h)
	}
	return nil, nil
}
