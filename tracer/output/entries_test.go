package output_test

import (
	"strings"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/output"
)

// bytesOf makes a record of numbers with their sizes.
func bytesOf(fields ...[2]uint64) []byte {
	var data []byte
	for _, f := range fields {
		for i := range f[1] {
			data = append(data, byte(f[0]>>(8*i)))
		}
	}
	return data
}

// header is the common header of a record.
func header(id, flags, preempt, pid uint64) []byte {
	return bytesOf([2]uint64{id, 2}, [2]uint64{flags, 1}, [2]uint64{preempt, 1}, [2]uint64{pid, 4})
}

// printOne prints one record as an entry of cpu 1 at 155365827055 ns, behind one
// at the time next if that is not 0.
func printOne(t *testing.T, cfg output.Config, data []byte, next uint64) string {
	t.Helper()
	if cfg.Types == nil {
		cfg.Types = selected(t, "graph_retval").cfg.Types
	}
	cfg.Comm = func(pid int32) string { return map[int32]string{1558: "wl", 62: "bash"}[pid] }
	p, err := output.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	list := &records{[]output.Entry{{CPU: 1, Time: 155365827055, Data: data}}}
	if next != 0 {
		list.list = append(list.list, output.Entry{CPU: 1, Time: next, Data: data})
	}
	got, _ := p.AppendNext(nil, output.NewMerge(list))
	return string(got)
}

// TestWakeup prints the first entry of oracle capture full/latency/lat_wakeup_rt_fn0_graph0
// in all forms.
func TestWakeup(t *testing.T) {
	data := append(header(3, 1<<0|1<<2|1<<5|1<<3, 5, 0), bytesOf(
		[2]uint64{0, 4}, [2]uint64{1558, 4}, [2]uint64{1, 4},
		[2]uint64{120, 1}, [2]uint64{0, 1}, [2]uint64{49, 1}, [2]uint64{0, 1})...)
	for _, c := range []struct {
		o    output.Options
		want string
	}{
		{output.LatencyFormat, "  <idle>-0         1dNh5.   13us!:        0:120:R   + [001]    1558: 49:R wl\n"},
		{output.Raw, "0 1 155365827055 0 120 + 1 1558 49 R\n"},
		{output.Hex, "00000000 00000001 000000242c8661ef 00000000 78 2b 00000001 00000616 31 00000052 \n"},
		{output.Bin, "\x00\x00\x00\x00\x01\x00\x00\x00\xef\x61\x86\x2c\x24\x00\x00\x00" +
			"\x00\x00\x00\x00\x78\x00\x01\x00\x00\x00\x16\x06\x00\x00\x31\x00"},
	} {
		cfg := output.Config{Tracer: "wakeup_rt", Options: output.DefaultOptions | c.o, TimeStart: 155365827055 - 13000}
		if got := printOne(t, cfg, data, 155366204482); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestFuncRepeats has no capture: the form is that of kernel/trace/trace_output.c.
func TestFuncRepeats(t *testing.T) {
	data := append(header(19, 0, 0, 62), bytesOf(
		[2]uint64{0xfff1, 8}, [2]uint64{0xfff2, 8}, [2]uint64{7, 2}, [2]uint64{0, 2}, [2]uint64{1827055, 4})...)
	got := printOne(t, output.Config{Tracer: "function", Options: output.DefaultOptions}, data, 0)
	want := "            bash-62      [001] .....   155.365827: 0x0000fff1 <-0x0000fff2 (repeats: 7, last_ts:   155.364000)\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestUserFile prints a line of capture debian/events/ev_userstack, trace.sym-userobj.txt,
// and of ev_userstack_symaddr.
func TestUserFile(t *testing.T) {
	data := append(header(12, 0, 0, 62), bytesOf([2]uint64{62, 8}, [2]uint64{0x7f3be8c4daa7, 8}, [2]uint64{0, 56})...)
	for _, c := range []struct {
		o    output.Options
		want string
	}{
		{0, " =>  <00007f3be8c4daa7>\n"},
		{output.SymUserObj, " => /lib/x86_64-linux-gnu/libc.so.6[+0xd2aa7]\n"},
		{output.SymUserObj | output.SymAddr, " => /lib/x86_64-linux-gnu/libc.so.6[+0xd2aa7] <00007f3be8c4daa7>\n"},
	} {
		cfg := output.Config{Tracer: "nop", Options: c.o, UserFile: func(tgid int32, _ uint64) (string, uint64) {
			if tgid != 62 {
				t.Errorf("asked for task %d", tgid)
			}
			return "/lib/x86_64-linux-gnu/libc.so.6", 0x7f3be8b7b000
		}}
		if got, want := printOne(t, cfg, data, 0), "<user stack trace>\n"+c.want; got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestUnwind prints the example of the ftrace series for deferred unwinding.
func TestUnwind(t *testing.T) {
	format := func(name, id string, fields ...string) *event.Type {
		text := "name: " + name + "\nID: " + id + "\nformat:\n" +
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
			"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" +
			"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" +
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
			strings.Join(fields, "") + "\nprint fmt: \"cookie=%lld\", REC->cookie\n"
		typ, err := event.ParseFormat("ftrace", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	cookie := "\tfield:u64 cookie;\toffset:8;\tsize:8;\tsigned:0;\n"
	types, err := event.NewTable(
		format("user_unwind_cookie", "21", cookie),
		format("user_unwind_stack", "22", cookie,
			"\tfield:__data_loc unsigned long[] stack;\toffset:16;\tsize:4;\tsigned:0;\n",
			"\tfield:__data_loc unsigned long[] inodes;\toffset:20;\tsize:4;\tsigned:0;\n",
			"\tfield:__data_loc u32[] dev;\toffset:24;\tsize:4;\tsigned:0;\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := output.Config{Tracer: "nop", Types: types, Options: output.DefaultOptions &^ output.ContextInfo}
	data := append(header(21, 0, 0, 62), bytesOf([2]uint64{0x300000008, 8})...)
	if got := printOne(t, cfg, data, 0); got != "cookie=300000008\n" {
		t.Errorf("cookie: %q", got)
	}
	data = append(header(22, 0, 0, 62), bytesOf([2]uint64{0x300000008, 8},
		[2]uint64{8<<16 | 32, 4}, [2]uint64{8<<16 | 40, 4}, [2]uint64{4<<16 | 48, 4}, [2]uint64{0, 4},
		[2]uint64{0x8f687, 8}, [2]uint64{1340007, 8}, [2]uint64{254<<20 | 3, 4})...)
	want := "<user stack unwind>\ncookie=300000008\n =>  <000000000008f687> : 1340007 : 254:3\n"
	if got := printOne(t, cfg, data, 0); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestFieldsOfTheFirstEvent: the kernel takes the event with the first id behind those of
// ftrace's own entries for one of them, as in a capture of a real 6.12 with initcall_finish.
func TestFieldsOfTheFirstEvent(t *testing.T) {
	var list []*event.Type
	for _, id := range []string{"20", "21"} {
		typ, err := event.ParseFormat("initcall", []byte("name: event"+id+"\nID: "+id+"\nformat:\n"+
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"+
			"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"+
			"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"+
			"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"+
			"\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"ret=%d\", REC->ret\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, typ)
	}
	types, err := event.NewTable(list...)
	if err != nil {
		t.Fatal(err)
	}
	cfg := output.Config{Tracer: "nop", Types: types, Options: output.DefaultOptions&^output.ContextInfo | output.Fields}
	for id, want := range map[uint64]string{20: "UNKNOWN TYPE 20\n", 21: "event21: ret=0x0 (0)\n"} {
		if got := printOne(t, cfg, append(header(id, 0, 0, 62), 0, 0, 0, 0), 0); got != want {
			t.Errorf("%d: got %q, want %q", id, got, want)
		}
	}
}

// TestLatencyGraph prints a leaf of capture full/latency/lat_irqsoff_fn0_graph1
// under the header of that capture.
func TestLatencyGraph(t *testing.T) {
	types := selected(t, "graph_retval").cfg.Types
	const fn = 0x1234
	call := append(header(11, 1, 0, 214), bytesOf([2]uint64{fn, 8}, [2]uint64{0, 4})...)
	ret := append(header(10, 1, 0, 214), bytesOf([2]uint64{fn, 8}, [2]uint64{0, 24}, [2]uint64{0, 8})...)
	p, err := output.New(output.Config{
		Tracer: "irqsoff", Types: types, CPUs: 2, TimeStart: 1000,
		Options: output.DefaultOptions | output.LatencyFormat | output.DisplayGraph,
		Comm:    func(int32) string { return "wl" },
		Latency: output.Latency{Release: "6.12.117-oracle", Model: "preempt", Microseconds: 3518, Comm: "wl", PID: 214, Start: 0x77, End: 0x88},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := output.NewMerge(&records{[]output.Entry{{Time: 1200, Data: call}, {Time: 1300, Data: ret}}})
	got, _ := p.AppendNext(p.AppendHeader(nil, m, output.Counts{Entries: 7, Written: 7}), m)
	want := `# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 6.12.117-oracle
# --------------------------------------------------------------------
# latency: 3518 us, #7/7, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: wl-214 (uid:0 nice:0 policy:0 rt_prio:0)
#    -----------------
#  => started at: 0x00000077
#  => ended at:   0x00000088
#
#
#                                       _-----=> irqs-off        
#                                      / _----=> need-resched    
#                                     | / _---=> hardirq/softirq 
#                                     || / _--=> preempt-depth   
#                                     ||| /                      
#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
        0 us |   0)     wl-214     |  d.... |   0.000 us    |  0x1234();
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTGIDHeader has the header that a real 6.12 printed with record-tgid and noirq-info.
func TestTGIDHeader(t *testing.T) {
	p, err := output.New(output.Config{
		Tracer: "nop", Types: selected(t, "graph_retval").cfg.Types, CPUs: 2, Options: output.DefaultOptions&^output.IRQInfo | output.RecordTGID,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := string(p.AppendHeader(nil, output.NewMerge(), output.Counts{Entries: 869, Written: 869}))
	want := `# tracer: nop
#
# entries-in-buffer/entries-written: 869/869   #P:2
#
#           TASK-PID       TGID    CPU#     TIMESTAMP  FUNCTION
#              | |           |       |         |         |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The wakeup tracers mark long calls and show interrupts, the others do neither; as in
// captures full/latency/lat_wakeup_dl_fn1_graph1 and lat_irqsoff_fn1_graph1.
func TestLatencyGraphOptions(t *testing.T) {
	types := selected(t, "graph_retval").cfg.Types
	text := func(tracer string) string {
		const fn, irq, ns = 0x1234, 0x5678, 11228
		p, err := output.New(output.Config{
			Tracer: tracer, Types: types, CPUs: 1, IRQStart: irq, IRQEnd: irq + 1,
			Options: output.DefaultOptions | output.DisplayGraph,
		})
		if err != nil {
			t.Fatal(err)
		}
		var list []output.Entry
		for i, fn := range []uint64{fn, irq} {
			list = append(list,
				output.Entry{Time: uint64(i)*20000 + 1, Data: append(header(11, 1, 0, 17), bytesOf([2]uint64{fn, 8}, [2]uint64{0, 4})...)},
				output.Entry{Time: uint64(i)*20000 + 2, Data: append(header(10, 1, 0, 17), bytesOf([2]uint64{fn, 8}, [2]uint64{0, 24}, [2]uint64{ns, 8})...)})
		}
		m := output.NewMerge(&records{list})
		var text []byte
		for more := true; more; {
			text, more = p.AppendNext(text, m)
		}
		return string(text)
	}
	const leaf = "        0 us |   0)    <...>-17    |   11.228 us   |  0x1234();\n"
	if got := text("irqsoff"); got != leaf {
		t.Errorf("irqsoff:\n%s", got)
	}
	for _, want := range []string{strings.Replace(leaf, "|   11.", "| + 11.", 1), "==========>", "0x5678();"} {
		if got := text("wakeup_dl"); !strings.Contains(got, want) {
			t.Errorf("wakeup_dl has no %q:\n%s", want, got)
		}
	}
}
