package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"ftracelab/tracer/record"
)

// BenchmarkPerfText reads the same stacks again and again, and stacks that never
// come again.
func BenchmarkPerfText(b *testing.B) {
	for _, tt := range []struct {
		name  string
		fresh bool
	}{{"repeated", false}, {"fresh", true}} {
		var text []byte
		for i := range 20000 {
			text = fmt.Appendf(text, "go 21404 [001]  %d.%06d:    2004008 cpu-clock: \n", i/1000, i)
			base := 0
			if tt.fresh {
				base = i << 16
			}
			for k := range 14 {
				text = fmt.Appendf(text, "\t%16x cmd/go/internal/modindex.openIndexPackage.func%d+0x%x (/usr/local/go/bin/go)\n", base+k<<8, k, i%50)
			}
			text = append(text, '\n')
		}
		b.Run(tt.name, func(b *testing.B) { readAgain(b, text) })
	}
}

func BenchmarkFtraceText(b *testing.B) {
	readAgain(b, bytes.Repeat([]byte(
		"            bash-235     [001] .....    26.449670: kmem_cache_alloc: call_site=alloc_inode+0x5e/0xc0 ptr=00000000b3414803 bytes_req=624\n"+
			"            bash-235     [001] .....    26.455318: <stack trace>\n => kmem_cache_alloc_lru_noprof\n => alloc_inode\n => do_pipe2\n => do_syscall_64\n"), 20000))
}

func readAgain(b *testing.B, text []byte) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := OpenReader(bytes.NewReader(text), "text", Options{})
		if err != nil {
			b.Fatal(err)
		}
		drain(b, c)
	}
}

func BenchmarkFolder(b *testing.B) {
	b.SetBytes(500 * defaultSubbuf)
	b.ReportAllocs()
	for b.Loop() {
		c, err := OpenExample(Options{})
		if err != nil {
			b.Fatal(err)
		}
		drain(b, c)
	}
}

func drain(b *testing.B, c *Capture) {
	var r record.Record
	for {
		if err := c.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}
