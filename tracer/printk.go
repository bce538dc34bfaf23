package tracer

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ftracelab/tracefsfs/tracefile"
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
	"ftracelab/tracer/option"
	"ftracelab/workload/machine"
)

// printkFormats are the constant strings that modules call trace_printk with, by their
// addresses: records hold only those. They stay when their module goes. Before them
// the file lists tracepointStrings.
type printkFormats struct {
	texts []string
}

// hold keeps the strings of a module that has been loaded. If it has any, the top
// buffer gets its size.
//
// Kernel: hold_module_trace_bprintk_format, kernel/trace/trace_printk.c;
// trace_printk_init_buffers, kernel/trace/trace.c.
func (ft *Ftrace) hold(mod *machine.Module) {
	for _, text := range mod.Formats {
		ft.formats.address(text)
	}
	if len(mod.Formats) > 0 {
		_ = ft.top.expand() // without room for it the buffer stays small, as in the kernel
	}
}

// Where the strings lie: in memory that the kernel allocated for copies of them.
const (
	formatBase = 0xffff888102000000
	formatSize = 256
)

// address is where a string lies, which is new if it was not there.
func (f *printkFormats) address(text string) uint64 {
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

// at is the string at an address.
func (f *printkFormats) at(addr uint64) (string, bool) {
	if s, ok := tracepointString()[addr]; ok {
		return s, true
	}
	n := (addr - formatBase) / formatSize
	if addr < formatBase || n >= uint64(len(f.texts)) || (addr-formatBase)%formatSize != 0 {
		return "", false
	}
	return f.texts[n], true
}

// show is printk_formats.
//
// Kernel: t_show, kernel/trace/trace_printk.c.
func (f *printkFormats) show() string {
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

// formatsFile is printk_formats.
func (ft *Ftrace) formatsFile() tracefile.Node {
	return ft.top.value("printk_formats", 0o440, ft.formats.show, nil)
}

// printkDest is the instance that takes what is written with trace_printk: the
// one that has options/trace_printk_dest.
//
// Kernel: printk_trace, kernel/trace/trace.c.
func (ft *Ftrace) printkDest() *Instance {
	for tr := range ft.all {
		if tr.opts.Has(option.PrintkDest) {
			return tr
		}
	}
	return ft.top
}

// setPrintkDest is options/trace_printk_dest: some instance always has it, and
// the top one if no other does.
//
// Kernel: set_tracer_flag and update_printk_trace, kernel/trace/trace.c.
func (tr *Instance) setPrintkDest(on bool) error {
	to := tr
	if !on {
		if to = tr.ft.top; to == tr {
			return fmt.Errorf("trace_printk_dest: another instance has to take it: %w", syscall.EINVAL)
		}
	}
	for other := range tr.ft.all {
		other.opts.Set(option.PrintkDest, other == to)
	}
	return nil
}

// tracePrintk records a call of trace_printk in the instance that it goes to.
//
// Kernel: __trace_array_puts, __trace_bputs and trace_vbprintk, kernel/trace/trace.c.
func (ft *Ftrace) tracePrintk(c *machine.CPU, p *machine.Printk) {
	tr := ft.printkDest()
	if !tr.opts.Has(option.Printk) || !tr.records(c) {
		return
	}
	h := common(c)
	var t *event.Type
	switch p.Kind {
	case machine.PrintkBputs:
		t = events.Bputs.Type
		ft.scratch = events.Bputs.Append(ft.scratch[:0], h, &events.BputsRecord{IP: p.IP, Str: ft.formats.address(p.Text)})
	case machine.PrintkBprintk:
		t = events.Bprint.Type
		ft.scratch = events.Bprint.Append(ft.scratch[:0], h, &events.BprintRecord{
			IP: p.IP, Fmt: ft.formats.address(p.Text), Buf: binaryArgs(p.Args),
		})
	case machine.PrintkText:
		t = events.Print.Type
		text := p.Text
		if len(p.Args) > 0 {
			args := slices.Clone(p.Args)
			for n, arg := range args {
				if ptr, ok := arg.(machine.Pointer); ok {
					args[n] = fmt.Sprintf("%016x", ft.hashPtr(uint64(ptr)))
				}
			}
			text = fmt.Sprintf(text, args...)
		}
		ft.scratch = events.Print.Append(ft.scratch[:0], h, &events.PrintRecord{IP: p.IP, Buf: text})
	}
	ft.remember(c.Current)
	tr.record(tr.rec, &happening{cpu: c, ctx: contextOf(c), t: t, h: h, data: ft.scratch})
}

// binaryArgs are arguments as vbin_printf keeps them: strings with their NULs, and
// numbers at the next word.
//
// Kernel: vbin_printf, lib/vsprintf.c.
func binaryArgs(args []any) []uint32 {
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
			panic(fmt.Sprintf("tracer: invariant: an argument of trace_printk is a %T", arg))
		}
	}
	return words
}
