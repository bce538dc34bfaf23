package capture

import (
	"errors"
	"io"
	"strings"
	"testing"

	"ftracelab/tracer/record"
	"ftracelab/unwind/cookie"

	"github.com/google/go-cmp/cmp"
)

// deferredPerf is text in the form of perf 6.19 script --no-merge-callchains.
const deferredPerf = `pwd    2312 [001]  121.163435:     249113 cpu/cycles/P:
	ffffffff845b78d8 build_id_parse+0x218 ([kernel.kallsyms])
	ffffffff8360012f entry_SYSCALL_64_after_hwframe+0x76 ([kernel.kallsyms])
	       b00000006 (cookie) ([unknown])

pwd    2312 [001]  121.163440:     249113 cpu/cycles/P:
	       b00000006 (cookie) ([unknown])

pwd    2312 [001]  121.163447: DEFERRED CALLCHAIN [cookie: b00000006]
	    7f18fe337fa7 mprotect+0x7 (/lib/ld-linux-x86-64.so.2)
	    7f18fe330e0f _dl_sysdep_start+0x7f (/lib/ld-linux-x86-64.so.2)

ls 2313/2314 121.5: DEFERRED CALLCHAIN [cookie: 300000001]
`

// A sample whose user stack was unwound later is a sample with a cookie, and the block with
// its stack is a record of its own, as they are in ftrace.
func TestPerfDeferred(t *testing.T) {
	c := fromText(t, deferredPerf, Options{Format: FormatPerf})
	want := []string{
		"cpu1 121163435000 pid=2312 flags=0x0 preempt=0x0 perf:cpu/cycles/P 24",
		"cpu1 121163435000 pid=2312 kernel build_id_parse+0x218 entry_SYSCALL_64_after_hwframe+0x76",
		"cpu1 121163435000 pid=2312 flags=0x0 preempt=0x0 ftrace:user_unwind_cookie 16",
		"cpu1 121163440000 pid=2312 flags=0x0 preempt=0x0 perf:cpu/cycles/P 24",
		"cpu1 121163440000 pid=2312 flags=0x0 preempt=0x0 ftrace:user_unwind_cookie 16",
		"cpu1 121163447000 pid=2312 flags=0x0 preempt=0x0 ftrace:user_unwind_stack 48",
		"cpu0 121500000000 pid=2314 flags=0x0 preempt=0x0 ftrace:user_unwind_stack 32",
	}
	if diff := cmp.Diff(want, dump(t, c)); diff != "" {
		t.Error(diff)
	}
	c = fromText(t, deferredPerf, Options{Format: FormatPerf})
	var r record.Record
	for r.Type == nil || r.Type.Name != "user_unwind_stack" {
		if err := c.Next(&r); err != nil {
			t.Fatal(err)
		}
	}
	if id := cookie.ID(r.Type.Field("cookie").Uint(r.Data)); id != 0xb00000006 || id.CPU() != 5 || id.Count() != 11 {
		t.Errorf("cookie %x of CPU %d, count %d", uint64(id), id.CPU(), id.Count())
	}
	if n := len(r.Type.Field("stack").Bytes(r.Data)); n != 16 {
		t.Errorf("%d bytes of addresses", n)
	}
}

// The text is also recognized if it begins with such a block, and a cookie that is no number
// is an error.
func TestPerfDeferredBlocks(t *testing.T) {
	_, block, _ := strings.Cut(deferredPerf, "cpu/cycles/P:\n\t       b00000006 (cookie) ([unknown])\n\n")
	if got := dump(t, fromText(t, block, Options{})); len(got) != 2 {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{
		"pwd 2312 121.163447: DEFERRED CALLCHAIN [cookie: xyz]\n\n",
		"pwd 2312 121.163447: DEFERRED CALLCHAIN [cookie: b00000006\n\n",
		"pwd 2312 121.163447: DEFERRED CALLCHAIN\n\n",
	} {
		c := fromText(t, bad, Options{Format: FormatPerf})
		var r record.Record
		if err := c.Next(&r); err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "line 1: not a sample") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
