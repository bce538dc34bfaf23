package shell

import (
	"context"
	"strings"
	"testing"
)

// TestDescriptors: descriptors from 3 on. The tree's trace_pipe gives the lines one,
// two, three, four and then waits.
func TestDescriptors(t *testing.T) {
	for _, c := range []struct {
		name, script, out, err string
		status                 int
	}{
		{"read takes one line", "exec 3< trace_pipe; read -r a <&3; read -r b <&3; exec 3<&-; echo $a $b; head -n 1 trace_pipe", "one two\nthree\n", "", 0},
		{"commands share the place", "exec 3< trace_pipe; read a <&3; head -n 1 <&3; { read b; head -n 1; } <&3; echo $a $b", "two\nfour\none three\n", "", 0},
		{"a loop", "n=0; while read -r l <&3; do echo got $l; n=$((n+1)); [ $n = 3 ] && break; done 3< trace_pipe; head -n1 trace_pipe", "got one\ngot two\ngot three\nfour\n", "", 0},
		{"input of a loop", "exec 3< trace_pipe; while read -r l; do echo got $l; [ $l = two ] && break; done <&3; read x <&3; echo $x", "got one\ngot two\nthree\n", "", 0},
		{"read -u", "exec 3< trace_pipe; read -r -u 3 a; read -u3 b; echo $a $b; read -u x a; read -u 4 a", "one two\n", "sh: read: -u wants the number of a descriptor\nsh: 4: Bad file descriptor\n", 1},
		{"as standard input for good", "exec 3< trace_pipe; exec <&3; read a; read b; echo $a $b", "one two\n", "", 0},
		{"a file of the tree keeps its place", "exec 3< README; read a <&3; read b <&3; read c <&3; echo $?,$a,$b,$c", "1,tracing mini-HOWTO:,trace_marker,\n", "", 0},
		{"continued lines", `printf 'a\\\nb\nc\\d\n' > /tmp/f; exec 3< /tmp/f; read x <&3; read -r y <&3; echo "$x,$y"`, "ab,c\\d\n", "", 0},
		{"no newline at the end", "printf 'a\\nb' > /tmp/f; exec 3< /tmp/f; read x <&3; read y <&3; echo $?,$x,$y; cat <&3", "1,a,b\n", "", 0},
		{"mapfile", "printf 'a\\nb\\nc\\n' > /tmp/f; exec 3< /tmp/f; read x <&3; mapfile -t m <&3; echo $x ${m[0]} ${m[1]}", "a b c\n", "", 0},
		{"writes", "exec 4> trace_marker; echo hi >&4; echo there >&4; exec 4>&-; cat trace; echo no >&4; echo $?", "# tracer: nop\nmarker \"hi\\n\"\nmarker \"there\\n\"\n1\n", "sh: 4: Bad file descriptor\n", 0},
		{"a write that fails", "exec 4> tracing_on; echo x >&4; echo $?; printf 0 >&4; cat tracing_on", "1\n0\n", "echo: write error: Invalid argument\n", 0},
		{"append, and both ways", "exec 5>> /tmp/f; echo a >&5; exec 5>&-; exec 5>> /tmp/f 6<> /tmp/f; echo b >&5; cat <&6", "a\nb\n", "", 0},
		{"only reading", "exec 3< trace; echo x >&3; echo $?; exec 4> trace_marker; cat <&4", "1\n", "echo: write error: Bad file descriptor\ncat: -: Bad file descriptor\n", 1},
		{"standard output kept", "exec 3>&1 > /tmp/f; echo in; echo out >&3; exec 1>&3 3>&-; cat /tmp/f", "out\nin\n", "", 0},
		{"outputs swapped", "{ { echo o; echo e >&2; } 3>&1 1>&2 2>&3 | sed s/^/piped-/; }", "piped-e\n", "o\n", 0},
		{"of one command only", "cat 3< available_tracers <&3; cat <&3", "function_graph function nop\n", "sh: 3: Bad file descriptor\n", 1},
		{"what was before is back", "echo a > /tmp/a; echo b > /tmp/b; exec 3< /tmp/a; { cat <&3; } 3< /tmp/b; { :; } 3<&-; cat <&3", "b\na\n", "", 0},
		{"the number in a variable", "exec 7< /tmp/nothing; n=4; exec 4> /tmp/f; echo x >&$n; echo y >&\"$n\"; cat /tmp/f; echo z >&$((n + 1))", "x\ny\n", "sh: /tmp/nothing: No such file or directory\nsh: 5: Bad file descriptor\n", 1},
		{"a duplicate", "exec 3< trace_pipe; exec 4<&3; exec 3<&-; read a <&4; cat <&3; exec 12<&4 4<&-; read b <&12; echo $a $b", "one two\n", "sh: 3: Bad file descriptor\n", 0},
		{"a subshell's are its own", "exec 3< trace_pipe; ( read a <&3; exec 3<&-; exec 4< README; read b <&4; echo $a $b ); read a <&3; echo $a; cat <&4", "one tracing mini-HOWTO:\ntwo\n", "sh: 4: Bad file descriptor\n", 1},
		{"a substitution's, too", "x=$(exec 3< trace_pipe; read a <&3; echo $a); echo $x; read -r y <&3", "one\n", "sh: 3: Bad file descriptor\n", 1},
		{"a pipeline's, too", "{ exec 3< trace_pipe; read a <&3; echo $a; } | cat; cat <&3", "one\n", "sh: 3: Bad file descriptor\n", 1},
		{"a job's are a copy", "exec 3< trace_pipe; { sleep 1; read a <&3; echo job $a; } & read a <&3; exec 3<&-; wait; echo $a; cat <&3", "job two\none\n", "sh: 3: Bad file descriptor\n", 1},
		{"a script inherits them", "exec 3< trace_pipe; sh -c 'read a <&3; echo $a; exec 3<&-'; read a <&3; echo $a; echo 'read a; echo in $a' > /tmp/s; sh /tmp/s <&3", "one\ntwo\nin three\n", "", 0},
		{"through eval and functions", "f() { exec 3< trace_pipe; }; f; eval 'read a <&3'; g() { read b <&3; }; g; echo $a $b", "one two\n", "", 0},
		{"no such file", "exec 3< nothing; echo $?", "1\n", "sh: nothing: No such file or directory\n", 0},
		{"named by a variable", "echo first; exec {fd}< trace; echo $? $fd", "first\n0 10\n", "", 0},
		{"texts in the script", "cat <&3 3<<E; echo $?\nx\nE", "2\n", "sh: 1:9: text in the script can only be standard input in the lab: use a file in /tmp for descriptor 3\n", 0},
		{"too large a number", "exec 1024< trace", "", "sh: 1:6: 1024: a descriptor is below 1024\n", 2},
		{"several, by number", "n=3; f() { eval \"exec $n< README\"; n=$((n+1)); }; f; f; f; cat <&5 | wc -l", "2\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.tree.piped = []string{"one\n", "two\n", "three\n", "four\n"}
			status, err := l.sh.Run(context.Background(), strings.NewReader(c.script), "test")
			if err != nil {
				t.Fatal(err)
			}
			if out, stderr := l.out.String(), l.err.String(); out != c.out || stderr != c.err || status != c.status {
				t.Errorf("script %q\nout    %q\nwant   %q\nstderr %q\nwant   %q\nstatus %d, want %d", c.script, out, c.out, stderr, c.err, status, c.status)
			}
			if n := len(l.sh.descriptors.all) + len(l.sh.descriptors.inputs); n > 0 {
				t.Errorf("%d files are left open", n)
			}
		})
	}
}
