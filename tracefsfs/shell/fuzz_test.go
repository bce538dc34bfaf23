package shell

import (
	"context"
	"strings"
	"testing"
	"time"
)

// FuzzScript runs any text as a script: it may fail, but ends, panics nowhere
// and asks the host for nothing but what it names outside the virtual folders.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		"echo 1 > tracing_on; cat trace | grep -c x", "for i in events/*/*/filter; do echo 0 > $i; done", "f() { f; }; f",
		"sed -n 's/a/b/p' trace; awk '{print $1}' README | sort -n | uniq -c", "sleep 1 & kill $!; wait", "find . -name '*' -printf '%y %p\\n'",
		"printf '%s\\n' $(seq 3) | while read x; do expr $x + 1; done", "trap 'echo x' EXIT; eval 'echo $RANDOM'; . /tmp/none", "echo ${x:-$((1+2))} | tr a-z A-Z | od -c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		l := newLab(t)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		l.sh.Run(ctx, strings.NewReader(script), "fuzz")
	})
}

func TestRecursionEnds(t *testing.T) {
	for _, script := range []string{"f() { f; }; f", "echo '. /tmp/s' > /tmp/s; . /tmp/s", "x='eval \"$x\"'; eval \"$x\"", "echo 'sh /tmp/s' > /tmp/s; sh /tmp/s"} {
		if _, stderr, status := run(t, script); status == 0 || !strings.Contains(stderr, "called too deeply") {
			t.Errorf("%s: status %d, %q", script, status, stderr[:min(len(stderr), 200)])
		}
	}
	if _, stderr, status := run(t, strings.Repeat("(", 6000)); status != 2 || !strings.Contains(stderr, "nested too deeply") {
		t.Errorf("deep script: status %d, %q", status, stderr)
	}
	if _, _, status := run(t, strings.Repeat("if ", 100000)); status != 2 {
		t.Errorf("deep if: status %d", status)
	}
}
