package shell

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// tooMuch is what a script's end says that wanted more than the default limit.
const tooMuch = "sh: Cannot allocate memory (the limit is 512 MB)\n"

// What the interpreter would expand is counted before: such a script ends the same
// way each time, and nothing after it is run.
func TestWordsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills memory, in one goroutine")
	}
	grow := func(size, command string) string {
		return "x=$(head -c " + size + " /dev/zero | tr '\\0' a); " + command + "; echo after"
	}
	for name, script := range map[string]string{
		"a variable doubled":          "s=aaaaaaaaaaaaaaaa; while :; do s=$s$s; done; echo after",
		"one that is appended to":     "s=aaaaaaaaaaaaaaaa; while :; do s+=$s; done; echo after",
		"one of a function":           "f() { local v=$1$1; f $v; }; f aaaaaaaaaaaaaaaa; echo after",
		"several in one command":      grow("5000000", "a=$x$x b=$a$a c=$b$b"),
		"many at once":                grow("1000000", "echo "+strings.Repeat("$x", 40)),
		"variables together":          grow("30000000", "a=b$x; b=c$x; c=d$x; d=e$x; e=f$x"),
		"a substitution":              "x=$(cat /dev/zero); echo after",
		"one in backquotes":           "x=`cat /dev/zero`; echo after",
		"one of a file":               "x=$(< /dev/zero); echo after",
		"one inside another":          "x=$(echo $(seq 1 100000000)); echo after",
		"one that is split":           "for i in $(seq 1 100000000); do :; done; echo after",
		"two that share":              "x=$(head -c 20000000 /dev/zero | tr '\\0' a)$(head -c 20000000 /dev/zero | tr '\\0' a); echo after",
		"text that is split":          "x=$(seq 1 3000000); set -- $x; echo after",
		"a here-document":             grow("5000000", "cat <<E >/dev/null\n"+strings.Repeat("$x", 10)+"\nE\n:"),
		"a here-string":               grow("5000000", "cat <<<"+strings.Repeat("$x", 10)+" >/dev/null"),
		"parameters":                  `set -- a b; while :; do set -- "$@" "$@"; done; echo after`,
		"one parameter":               `set -- a; while :; do set -- "$1$1"; done; echo after`,
		"an array":                    `a=(1 2 3 4); while :; do a=("${a[@]}" "${a[@]}"); done; echo after`,
		"a replacement":               "x=aaaa; while :; do x=${x//a/$x}; done; echo after",
		"a default":                   "x=aaaa; while :; do unset y; x=${y:-$x$x}; done; echo after",
		"an assignment in a word":     "x=aaaa; while :; do unset y; : ${y:=$x$x}; x=$y; done; echo after",
		"an indirect expansion":       "x=aaaa; n=x; while :; do x=${!n}${!n}; done; echo after",
		"braces":                      grow("100000", "echo {1..16000}$x"),
		"a pattern of case":           grow("5000000", "case a in $x) ;; esac"),
		"a pattern with quotes":       grow("5000000", `s="*"; echo $s"$x"`),
		"a pattern to cut off":        grow("5000000", `echo ${x#$x}`),
		"in eval":                     "s=aaaa; while :; do eval 's=$s$s'; done; echo after",
		"in a sourced file":           "echo 's=aaaa; while :; do s=$s$s; done' > /tmp/f; . /tmp/f; echo after",
		"in a shell of its own":       "sh -c 's=aaaa; while :; do s=$s$s; done'; echo after",
		"in a pipeline":               "echo | { s=aaaa; while :; do s=$s$s; done; }; echo after",
		"in a subshell":               "( s=aaaa; while :; do s=$s$s; done ); echo after",
		"with standard error closed":  "{ s=aaaa; while :; do s=$s$s; done; } 2>/dev/null; echo after",
		"with a trap":                 "trap 'echo trap' EXIT; s=aaaa; while :; do s=$s$s; done",
		"with set -e and an or after": "set -e; s=aaaa; while :; do s=$s$s || echo or; done",
	} {
		t.Run(name, func(t *testing.T) {
			if out, stderr, status := run(t, script); out != "" || stderr != tooMuch || status != 2 {
				t.Errorf("script %.100q: out %.100q, stderr %.200q, status %d", script, out, stderr, status)
			}
		})
	}
}

// Processes are counted, too.
func TestProcessesAreCounted(t *testing.T) {
	for name, script := range map[string]string{
		"jobs":            "trap '' EXIT; while :; do sleep 1000000 & done; echo after",
		"a fork bomb":     ":(){ :|:& };:; wait; while :; do sleep 1; done",
		"a pipeline tree": "p() { p | p; }; p; echo after",
		"a long pipeline": "cat /dev/null" + strings.Repeat(" | cat", 3000) + "; echo after",
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.sh.cfg.Sleep = endless
			status, err := l.sh.Run(context.Background(), strings.NewReader(script), "test")
			if l.out.String() != "" || l.err.String() != "sh: fork: Resource temporarily unavailable\n" || status != 2 || err != nil {
				t.Errorf("out %.100q, stderr %.200q, status %d, %v", l.out.String(), l.err.String(), status, err)
			}
		})
	}
	// Jobs that end make room for others.
	out, stderr, status := run(t, "i=0; while [ $i -lt 3000 ]; do : & i=$((i+1)); done; wait; echo $i; echo a | cat | cat")
	if out != "3000\na\n" || stderr != "" || status != 0 {
		t.Errorf("3000 jobs: out %q, stderr %q, status %d", out, stderr, status)
	}
}

// A process that is left of an ended script says nothing, and ends no other script.
func TestLeftoverIsQuiet(t *testing.T) {
	var said strings.Builder
	l := newLimit(0, &said)
	ctx, end := l.begin(context.Background())
	for range maxProcesses {
		if _, err := l.fork(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.fail(errFork)
	if why := end(); why == nil {
		t.Fatal("the script was not ended")
	}
	before := said.String()
	for range 20 { // either of two things may be looked at first
		if _, err := l.fork(ctx); err == nil {
			t.Fatal("a process more")
		}
	}
	if _, err := l.Write([]byte("and this")); err != nil || said.String() != before {
		t.Errorf("said %q, %v after %q", said.String(), err, before)
	}
	if _, end = l.begin(context.Background()); end() != nil {
		t.Error("the next script is ended, too")
	}
}

// What commands hold of their input is counted: that is the command's own error, and
// the script goes on.
func TestHeldIsCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills memory, in one goroutine")
	}
	for script, want := range map[string]string{
		"seq 1 100000000 | sort":                                               "sort: memory exhausted\n",
		"seq 1 100000000 | tac":                                                "tac: memory exhausted\n",
		"seq 1 100000000 | xargs echo":                                         "xargs: memory exhausted\n",
		"seq 1 100000000 | tail -n 100000000":                                  "tail: memory exhausted\n",
		"seq 1 100000000 | diff - trace":                                       "diff: memory exhausted\n",
		"seq 1 100000000 | grep -B 100000000 x":                                "grep: memory exhausted\n",
		`echo a | sed ':a;G;H;ba'`:                                             "sed: Cannot allocate memory\n",
		`echo a | sed -e :a -e 'a text' -e ba`:                                 "sed: Cannot allocate memory\n",
		`head -c 5000000 /dev/zero | tr '\0' a | sed s/a/b/g`:                  "sed: Cannot allocate memory\n",
		`head -c 5000000 /dev/zero | tr '\0' a | awk '{ gsub(/a/, "b") }'`:     "awk: string is too long\n",
		`head -c 5000000 /dev/zero | tr '\0' ' ' | awk '{ split($0, a, "") }'`: "awk: too many fields\n",
	} {
		l := newLab(t)
		l.sh.limit.bytes = 256 << 20 // the sooner it is used up
		status, err := l.sh.Run(context.Background(), strings.NewReader(script+"; echo after"), "test")
		if out := l.out.String(); !strings.HasSuffix(out, "after\n") || l.err.String() != want || status != 0 || err != nil {
			t.Errorf("%s: out %.100q, stderr %.200q, status %d, %v", script, out, l.err.String(), status, err)
		}
	}
}

// Files and folders of /tmp have no end either.
func TestFilesAreCounted(t *testing.T) {
	m := newMemory()
	n := 0
	for m.mkdir("/tmp/"+strings.Repeat("d", n%200)+string(rune('a'+n%26))+strings.Repeat("x", n/5200)) == nil {
		n++
	}
	if n < 1000 || n*nodeCost > maxMemory {
		t.Errorf("%d folders", n)
	}
	before := m.used
	if err := m.remove("/tmp/a"); err == nil {
		t.Error("a folder was removed as a file")
	}
	if err := m.rmdir("/tmp/a"); err != nil || m.used != before-nodeCost {
		t.Errorf("rmdir: %v, %d bytes of %d", err, m.used, before)
	}
	if f, err := m.open("/tmp/f", os.O_CREATE|os.O_WRONLY, 0o644); err != nil || f == nil {
		t.Errorf("there is room again: %v", err)
	}
}

// The guards change nothing that a script can see.
func TestGuardsAreUnseen(t *testing.T) {
	for script, want := range map[string]string{
		`false; x=$?; echo $x`:                                                                         "1\n",
		`false; x=a$?$y; echo $x $?`:                                                                   "a1 0\n",
		`x=$(exit 3); echo $?`:                                                                         "3\n",
		`y=b; x=$(exit 3)$y; echo $? $x`:                                                               "3 b\n",
		`false; echo $(echo $?)`:                                                                       "1\n",
		`set -u; set --; echo "$@" ${1-none} "${2:-none}" $#`:                                          "none none 0\n",
		`set -u; set -- a "b c"; for i in "$@"; do echo "[$i]"; done`:                                  "[a]\n[b c]\n",
		`set -- a "b c"; f() { echo $# "$2"; }; f "$@"`:                                                "2 b c\n",
		`set -e; x=1; [ $x = 2 ] || echo no; ! [ $x = 2 ]; echo $x`:                                    "no\n1\n",
		`x=1; if [ $x = 2 ]; then :; elif [ $x = 1 ]; then echo elif; fi`:                              "elif\n",
		`x=a; exec > /tmp/$x; echo b; cat /tmp/a >&2`:                                                  "",
		`x=a; echo $x > /tmp/$x; cat < /tmp/$x; cat /tmp/$x >> /tmp/b$x; wc -l < /tmp/ba`:              "a\n1\n",
		`x=a; echo $x | while read y; do echo "$x$y"; done | cat`:                                      "aa\n",
		`x=a; { echo $x; echo $x >&2; } 2>&1 | sort`:                                                   "a\na\n",
		`for i in $(seq 3) {a,b}; do [ $i = 2 ] && continue; echo $i; done`:                            "1\n3\na\nb\n",
		`case $(echo abc) in a*) echo $(echo yes);; esac`:                                              "yes\n",
		"cat <<E\n$(echo a) ${x:-b}\nE":                                                                "a b\n",
		"x=c; cat <<-E\n\t$x\n\tE":                                                                     "c\n",
		`x='a  b'; echo $x "$x"; IFS=,; y=1,2; echo $y`:                                                "a b a  b\n1 2\n",
		`a=(1 "2 3"); a+=(4); a[5]=x; echo "${a[1]}" ${#a[@]} "${!a[@]}"`:                              "2 3 4 0 1 2 5\n",
		`x=$(cat < /dev/null); echo "[$x]"; x=$(< /proc/version); echo ${x%% *}`:                       "[]\nLinux\n",
		"x=`echo \\`echo in\\``; echo $x":                                                              "in\n",
		`eval 'x=$(echo a | cat); echo $x & wait'; trap 'echo $x end' EXIT`:                            "a\na end\n",
		`set -x; x=a; echo $x 2>/dev/null; f() { return 3; }; f $x; echo $?`:                           "a\n3\n",
		`n=x; x=v; echo ${!n} ${x/v/w} ${x^^} ${x:0:1} ${#x} $((${#x}+1))`:                             "v w V v 1 2\n",
		`x=1; while [ $x -lt 3 ]; do x=$((x+1)); done; until [ $x = 0 ]; do x=$((x-1)); done; echo $x`: "0\n",
	} {
		if out, stderr, _ := run(t, script); out != want || strings.Contains(stderr, ownPrefix) {
			t.Errorf("script %q: out %q, want %q; stderr %q", script, out, want, stderr)
		}
	}
}

// After a command that wanted too much a session goes on, in the same folder, with
// memory for the next one.
func TestSessionGoesOn(t *testing.T) {
	l := newLab(t)
	runner, err := l.sh.runner(context.Background(), process{stdout: l.sh.cfg.Stdout, stderr: l.sh.cfg.Stderr, dir: tracing, env: baseEnv()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := session{sh: l.sh, runner: runner, terminal: fileScreen{os.Stdin}}
	for _, line := range []string{
		"cd events", "s=aaaaaaaaaaaaaaaa; while :; do s=$s$s; done", "echo $? ${#s}; pwd", "s=$s$s; echo not reached", "echo $?; s=short; s=$s$s; echo $s",
	} {
		if s.execute(context.Background(), line+"\n") {
			t.Fatalf("%q ends the session", line)
		}
	}
	if want := "2 33554432\n/sys/kernel/tracing/events\n2\nshortshort\n"; l.out.String() != want || l.err.String() != tooMuch+tooMuch {
		t.Errorf("out %q, want %q; stderr %q", l.out.String(), want, l.err.String())
	}
}

func endless(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
