package shell

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/term"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"ftracelab/internal/plain"
	"ftracelab/tracefsfs/shell/lineedit"
)

// Interactive is a session: it prompts with the present folder, edits lines if
// Stdin is a terminal, and runs each command as it is complete. An interrupt
// ends the command, not the session; exit and the end of input end that. Without
// a terminal it runs Stdin as a script. status is that of the last command.
func (sh *Shell) Interactive(ctx context.Context) (status int, err error) {
	screen, in := sh.cfg.Screen, sh.cfg.Stdin
	if screen == nil {
		terminal, ok := sh.cfg.Stdin.(*os.File)
		if !ok || !term.IsTerminal(int(terminal.Fd())) {
			if sh.cfg.Stdin == nil {
				return 0, nil
			}
			return sh.scriptFrom(ctx, sh.cfg.Stdin)
		}
		screen = fileScreen{terminal}
	}
	if sh.cfg.Typed != nil {
		in = sh.cfg.Typed
	}
	var last lastByte
	sh.cfg.Stdout, sh.cfg.Stderr = last.of(sh.cfg.Stdout), last.of(sh.cfg.Stderr)
	p := process{stdin: in, stdout: sh.cfg.Stdout, stderr: sh.cfg.Stderr, dir: tracing, env: baseEnv()}
	runner, err := sh.runner(ctx, p, nil)
	if err != nil {
		return 1, fmt.Errorf("shell: %w", err)
	}
	sh.history = newHistory(sh.cfg.History, sh.cfg.Keep)
	s := session{sh: sh, runner: runner, in: in, terminal: screen, last: &last}
	s.editor = lineedit.New(lineedit.Config{
		History:  sh.history,
		Complete: (&completer{sh, func() string { return s.runner.Dir }, func() []string { return sortedKeys(s.runner.Vars) }}).complete,
	})
	sh.session = &s
	defer func() { sh.session = nil }()
	defer sh.descriptors.closeAll()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.run(ctx)
}

// screen is where the line is drawn.
func (s *session) screen() io.Writer { return cmp.Or[io.Writer](s.sh.cfg.Terminal, s.sh.cfg.Stdout) }

// scriptFrom runs a script whose commands have no standard input of their own.
func (sh *Shell) scriptFrom(ctx context.Context, in io.Reader) (int, error) {
	text, err := io.ReadAll(io.LimitReader(bufio.NewReader(in), maxScript))
	if err != nil {
		return 1, fmt.Errorf("shell: standard input: %w", err)
	}
	p := process{stdout: sh.cfg.Stdout, stderr: sh.cfg.Stderr, dir: tracing, env: baseEnv()}
	return sh.runWithin(ctx, p, string(text), "sh", nil)
}

// session is one Interactive.
type session struct {
	sh     *Shell
	runner *interp.Runner
	in     io.Reader // what commands read
	status int

	terminal Screen
	editor   *lineedit.Editor
	typed    []byte // and not yet acted on
	last     *lastByte
}

func (s *session) run(ctx context.Context) (int, error) {
	for ctx.Err() == nil {
		text, err := s.read(ctx)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(s.sh.cfg.Stdout)
			return s.status, nil
		}
		if err != nil {
			return 1, fmt.Errorf("shell: terminal: %w", err)
		}
		if s.execute(ctx, text) {
			return s.status, nil
		}
	}
	return 130, ctx.Err()
}

// read reads lines until they are whole commands, which the history keeps.
func (s *session) read(ctx context.Context) (string, error) {
	prompt := plain.String(s.runner.Dir) + " # "
	text := ""
	for {
		line, err := s.readLine(ctx, prompt)
		if errors.Is(err, errInterrupted) {
			s.fail(130)
			return "", nil
		}
		if err != nil {
			return "", err
		}
		text += line + "\n"
		_, err = syntax.NewParser().Parse(strings.NewReader(text), "")
		if !syntax.IsIncomplete(err) {
			s.sh.history.Add(inOneLine(text))
			return text, nil
		}
		prompt = "> "
	}
}

// plainLine reads a line as a terminal gives it that edits lines by itself.
func (s *session) plainLine(ctx context.Context, prompt string) (string, error) {
	interrupt, stop := s.terminal.Interrupt(ctx)
	defer stop()
	fmt.Fprint(s.sh.cfg.Stdout, prompt)
	in := &stdinReader{ctx: interrupt, r: s.in}
	var line []byte
	for one := [1]byte{}; ; {
		n, err := in.Read(one[:])
		switch {
		case interrupt.Err() != nil && ctx.Err() == nil:
			fmt.Fprintln(s.sh.cfg.Stdout)
			return "", errInterrupted
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1 && len(line) < maxScript:
			line = append(line, one[0])
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
}

// keysHelp says which keys a line knows.
const keysHelp = `Keys: Tab completes. Up, Down, Ctrl-R find older lines, Alt-. their last word.
  Ctrl-A, Ctrl-E, Alt-B, Alt-F move; Ctrl-W, Ctrl-U, Ctrl-K, Alt-D cut, Ctrl-Y
  puts that in again; Ctrl-_ takes back; Ctrl-L clears the screen. Ctrl-C drops
  the line or ends the command, Ctrl-D in an empty line leaves.
`

// errInterrupted is for a line that Ctrl-C has ended.
var errInterrupted = errors.New("interrupted")

// readLine reads one line in raw mode; commands run in the terminal's own.
func (s *session) readLine(ctx context.Context, prompt string) (string, error) {
	if s.sh.cfg.Plain {
		return s.plainLine(ctx, prompt)
	}
	restore, err := s.terminal.Raw()
	if err != nil {
		return "", err
	}
	defer restore()
	var mu sync.Mutex // the size of the terminal may change at any time
	resize := func() { s.editor.Resize(s.terminal.Size()) }
	resize()
	s.freshLine()
	s.editor.Begin(prompt)
	defer s.terminal.Resized(func() {
		mu.Lock()
		defer mu.Unlock()
		resize()
		_, _ = s.screen().Write(s.editor.Draw()) // reading notices that the terminal is gone
	})()
	for more := make([]byte, 4096); ; {
		mu.Lock()
		resize() // what tells of a new size may come later than what is typed
		n, state := s.editor.Feed(s.typed)
		s.typed = s.typed[n:]
		_, err := s.screen().Write(s.editor.Draw())
		mu.Unlock()
		switch {
		case err != nil:
			return "", err
		case state == lineedit.Accepted:
			return s.editor.Line(), nil
		case state == lineedit.Interrupted:
			return "", errInterrupted
		case state == lineedit.Ended:
			return "", io.EOF
		}
		if n, err = s.terminal.Read(more); n == 0 && err != nil {
			return "", err
		}
		s.typed = append(s.typed, more[:n]...)
	}
}

// execute runs the commands of text; true ends the session.
func (s *session) execute(ctx context.Context, text string) (exited bool) {
	program, err := s.sh.parse(text, "sh")
	if err != nil {
		fmt.Fprintf(s.sh.cfg.Stderr, "sh: %v\n", err)
		s.status = 2
		return false
	}
	interrupt, stop := s.terminal.Interrupt(ctx)
	defer stop()
	// Ctrl-C ends what was typed in this line. Its jobs in the background live on with ctx.
	line, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(interrupt, cancel)()
	defer func() {
		if s.sh.timeline.idle() {
			cancel()
		}
	}()
	ctx, end := s.sh.limit.begin(line)
	defer func() {
		if end() != nil {
			exited = false
			s.sh.limit.speak()
			s.relieve()
			s.fail(2)
		}
	}()
	for _, stmt := range program.Stmts {
		err := s.runner.Run(ctx, stmt)
		switch {
		case interrupt.Err() != nil:
			fmt.Fprintln(s.sh.cfg.Stdout)
			s.fail(130)
			return false
		case ctx.Err() != nil:
			return false
		}
		if s.status, err = exitStatus(ctx, err); err != nil {
			fmt.Fprintln(s.sh.cfg.Stderr, err)
		}
		if s.runner.Exited() {
			return true
		}
	}
	return false
}

// fail makes status that of the last command, as $? will tell.
func (s *session) fail(status int) {
	s.status = status
	script, err := syntax.NewParser().Parse(strings.NewReader(fmt.Sprintf("(exit %d)", status)), "")
	if err != nil {
		panic("shell: invariant: exit does not parse: " + err.Error())
	}
	_ = s.runner.Run(context.Background(), script.Stmts[0])
}

// relieve gives memory back after a command that wanted too much. If that is held by
// variables, the session goes on without them.
func (s *session) relieve() {
	debug.FreeOSMemory()
	if !s.sh.limit.over(s.sh.limit.bytes / 2) {
		return
	}
	p := process{stdin: s.in, stdout: s.sh.cfg.Stdout, stderr: s.sh.cfg.Stderr, dir: s.runner.Dir, env: baseEnv()}
	runner, err := s.sh.runner(context.Background(), p, nil)
	if err != nil {
		return // they stay
	}
	s.runner = runner
	debug.FreeOSMemory()
	fmt.Fprintln(s.sh.cfg.Stderr, "sh: variables and functions are gone: they held too much")
}
