package shell

import (
	"context"
	"strings"
	"testing"
)

// TestProcessSubstitution: what a script with <( ) and >( ) prints, and its status.
func TestProcessSubstitution(t *testing.T) {
	const misplaced = "process substitution is a word of a command or the file of < or > in the lab: use a file in /tmp\n"
	for _, c := range []struct {
		name, script, out, err string
		status                 int
	}{
		{"read", "cat <(echo x) <(echo y)", "x\ny\n", "", 0},
		{"compared", "diff <(echo a; echo b) <(echo a; echo c)", "2c2\n< b\n---\n> c\n", "", 1},
		{"a loop keeps its variables", "n=0; while read -r line; do n=$((n+1)); last=$line; done < <(seq 3); echo $n $last", "3 3\n", "", 0},
		{"written", "echo abc | tee >(wc -c) >(tr a-c A-C) > /dev/null; echo after", "4\nABC\nafter\n", "", 0},
		{"redirected", "{ echo one; echo two; } > >(sed 's/^/> /'); echo after; cat nothing 2> >(tr a-z A-Z)", "> one\n> two\nafter\nCAT: NOTHING: NO SUCH FILE OR DIRECTORY\n", "", 1},
		{"for the rest of a script", "exec > >(sed 's/^/log: /'); echo a; echo b", "log: a\nlog: b\n", "", 0},
		{"more than a pipe holds", "wc -l < <(seq 100000); seq 100000 | tee >(tail -1) > /dev/null", "100000\n100000\n", "", 0},
		{"a list without end", "head -2 <(while :; do echo x; done); jobs; wait; echo over", "x\nx\nover\n", "", 0},
		{"nobody reads or writes", ": <(echo x) >(cat); echo $?", "0\n", "", 0},
		{"one inside of another", "cat <(cat <(echo in)); f() { cat <(cat $1; echo $1); }; f <(echo arg)", "in\narg\n/dev/fd/63\n", "", 0},
		{"in a loop", "for n in 1 2 3; do while read -r l; do echo $l $(cat <(echo $n)); done < <(echo a; echo b); done", "a 1\nb 1\na 2\nb 2\na 3\nb 3\n", "", 0},
		{"the status is the command's", "false <(:); echo $?; true <(false); echo $?; if ! grep -q a <(echo b); then echo none; fi", "1\n0\nnone\n", "", 0},
		{"set -e", "set -e; cat <(false); grep a <(echo b); echo not reached", "", "", 1},
		{"sourced", ". <(echo v=7); echo $v; eval 'cat <(echo $v)'; sh -c 'cat <(echo $1)' x y; sh <(echo 'echo script')", "7\n7\ny\nscript\n", "", 0},
		{"in the background and in a pipeline", "cat <(echo bg) & wait; echo p | cat - <(echo q) | tac", "bg\nq\np\n", "", 0},
		{"descriptors", "exec 5< <(echo five; echo six); read -r a <&5; read -r b <&5; echo $b $a; exec 5<&-; cat <&5", "six five\n", "sh: 5: Bad file descriptor\n", 1},
		{"refused where it stands", "for w in <(a); do echo no; done; echo on\nx=<(a) echo no; echo on", "on\non\n", "sh: 1:10: " + misplaced + "sh: 2:3: " + misplaced, 0},
		{"time and coproc, too", "for i in 1 2; do time true; done; coproc true; echo on", "on\n", strings.Repeat("sh: 1:18: time would measure the host; the lab's time is simulated (see date)\n", 2) + "sh: 1:35: coproc is not in the lab: use <( ) or >( )\n", 0},
		{"a number of its own", "exec {fd}< tracing_on {other}> /tmp/x; echo $fd $other; cat <&$fd; echo y >&$other; exec {fd}<&- {other}>&-; cat /tmp/x; cat <&$fd", "10 11\n1\ny\n", "sh: 10: Bad file descriptor\n", 1},
		{"/dev/fd", "exec 4< trace; head -1 /dev/fd/4; cat /dev/fd/7", "# tracer: nop\n", "cat: /dev/fd/7: No such file or directory\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, stderr, status := run(t, c.script)
			if out != c.out || stderr != c.err || status != c.status {
				t.Errorf("script %q\nout    %q\nwant   %q\nstderr %q\nwant   %q\nstatus %d, want %d", c.script, out, c.out, stderr, c.err, status, c.status)
			}
		})
	}
}

// TestPipesAreDeterministic: both ends of a pipe live in simulated time.
func TestPipesAreDeterministic(t *testing.T) {
	const script = `
while read -r line; do echo $line read at $(date +%N); sleep .01; done < <(for i in 1 2 3; do echo $i written at $(date +%N); sleep .003; done)
for i in 1 2 3; do echo $i; sleep .001; done > >(while read -r line; do echo $line passed at $(date +%N); done)
cat <(sleep .002; date +%N) <(date +%N)
seq 30000 | tee >(sleep .004; wc -l; date +%N) | tail -3
date +%N`
	const want = `1 written at 000000000 read at 000000000
2 written at 003000000 read at 010000000
3 written at 006000000 read at 020000000
1 passed at 030000000
2 passed at 031000000
3 passed at 032000000
035000000
033000000
30000
30000
039000000
039000000
`
	for n := range 30 {
		l := newTimedLab(t)
		if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
			t.Fatal(err)
		}
		if got := l.out.String(); got != want {
			t.Fatalf("run %d: got\n%s\nwant\n%s\nstderr %s", n, got, want, l.err.String())
		}
	}
}

// TestJobsTold: jobs tells of what runs, and once of what has ended.
func TestJobsTold(t *testing.T) {
	l := newTimedLab(t)
	script := "sleep 5 & (sleep 1; echo x) & jobs; sleep 2; jobs; kill %1; sleep 1; jobs; jobs; sh -c jobs; cat <(jobs)"
	if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
		t.Fatal(err)
	}
	want := `[1]  Running                 sleep 5
[2]  Running                 (sleep 1; echo x)
x
[1]  Running                 sleep 5
[2]  Done                    (sleep 1; echo x)
[1]  Terminated              sleep 5
`
	if got := l.out.String(); got != want || l.err.Len() > 0 {
		t.Errorf("got\n%s\nwant\n%s\nstderr %s", got, want, l.err.String())
	}
}

// TestWatch: watch runs a command again and again in simulated time.
func TestWatch(t *testing.T) {
	l := newTimedLab(t)
	script := "timeout 3 watch -n 1 'date +%s; cat tracing_on'; echo $?; watch -n x date; watch"
	if _, err := l.sh.Run(context.Background(), strings.NewReader(script), "test"); err != nil {
		t.Fatal(err)
	}
	const head = "Every 1s: date +%s; cat tracing_on\n\n"
	want := head + "0\n1\n" + head + "1\n1\n" + head + "2\n1\n124\n"
	if got := l.out.String(); got != want || !strings.Contains(l.err.String(), "watch: -n wants seconds") {
		t.Errorf("got\n%s\nwant\n%s\nstderr %s", got, want, l.err.String())
	}
}
