// Package printk is what trace_printk and %p need beside the record of a text: the
// constant strings that records hold by their addresses, the arguments that are kept
// for later, and the hash that stands for a pointer.
//
// Kernel: kernel/trace/trace_printk.c, lib/vsprintf.c.
package printk

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Formats are the constant strings that modules call trace_printk with, by their
// addresses: records hold only those. They stay when their module goes. Before them
// the file lists tracepointStrings.
type Formats struct {
	texts []string
}

// Where the strings lie: in memory that the kernel allocated for copies of them.
const (
	formatBase = 0xffff888102000000
	formatSize = 256
)

// Address is where a string lies, which is new if it was not there.
func (f *Formats) Address(text string) uint64 {
	for n, have := range f.texts {
		if have == text {
			return formatBase + uint64(n)*formatSize
		}
	}
	f.texts = append(f.texts, text)
	return formatBase + uint64(len(f.texts)-1)*formatSize
}

//go:generate go run ftracelab/internal/facts strings .

// tracepointStrings lists the strings that lie in the kernel's image because
// events refer to them, as Debian's 6.12.117 does: one line for each place that
// names one.
//
//go:embed tracepointstrings.txt
var tracepointStrings string

// tracepointString has the strings of tracepointStrings by their addresses.
//
// Kernel: is_tracepoint_string and the section __tracepoint_str, kernel/trace/trace_printk.c.
var tracepointString = sync.OnceValue(func() map[uint64]string {
	at := make(map[uint64]string)
	for line := range strings.Lines(tracepointStrings) {
		addr, text, _ := strings.Cut(strings.TrimSpace(line), " : ")
		n, err := strconv.ParseUint(addr, 0, 64)
		if err != nil {
			panic("tracepointstrings.txt: " + err.Error())
		}
		at[n] = strings.Trim(text, `"`)
	}
	return at
})

// At is the string at an address.
func (f *Formats) At(addr uint64) (string, bool) {
	if s, ok := tracepointString()[addr]; ok {
		return s, true
	}
	n := (addr - formatBase) / formatSize
	if addr < formatBase || n >= uint64(len(f.texts)) || (addr-formatBase)%formatSize != 0 {
		return "", false
	}
	return f.texts[n], true
}

// Show is the text of printk_formats.
//
// Kernel: t_show, kernel/trace/trace_printk.c.
func (f *Formats) Show() string {
	text := []byte(tracepointStrings)
	for n, s := range f.texts {
		text = fmt.Appendf(text, "0x%x : \"", formatBase+uint64(n)*formatSize)
		for _, c := range []byte(s) {
			switch c {
			case '\n':
				text = append(text, `\n`...)
			case '\t':
				text = append(text, `\t`...)
			case '\\':
				text = append(text, `\\`...)
			case '"':
				text = append(text, `\"`...)
			default:
				text = append(text, c)
			}
		}
		text = append(text, "\"\n"...)
	}
	return string(text)
}

// BinaryArgs are arguments as vbin_printf keeps them: strings with their NULs, and
// numbers at the next word.
//
// Kernel: vbin_printf, lib/vsprintf.c.
func BinaryArgs(args []any) []uint32 {
	var words []uint32
	free := 0 // bytes of the last word
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			for _, b := range append([]byte(v), 0) {
				if free == 0 {
					words, free = append(words, 0), 4
				}
				words[len(words)-1] |= uint32(b) << (8 * (4 - free))
				free--
			}
		case int32:
			words, free = append(words, uint32(v)), 0
		case uint32:
			words, free = append(words, v), 0
		case uint64:
			words, free = append(words, uint32(v), uint32(v>>32)), 0
		default:
			panic(fmt.Sprintf("printk: invariant: an argument of trace_printk is a %T", arg))
		}
	}
	return words
}
