package event_test

import (
	"strings"
	"testing"

	"ftracelab/tracer/event"
)

const wakeupFormat = `name: sched_wakeup
ID: 312
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;

print fmt: "comm=%s pid=%d", REC->comm, REC->pid
`

func TestParseFormatErrors(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"name: sched_wakeup\n", "", "no name: line"},
		{"ID: 312\n", "", "no ID: line"},
		{"ID: 312", "ID: many", "line 2:"},
		{"ID: 312", "ID: 70000", "line 2:"},
		{"print fmt", "print", "line 12: unknown line"},
		{"field:pid_t pid;", "field:;", "line 10: field without a name"},
		{"offset:24", "offset:-1", "line 10: offset of field \"pid\": -1 is outside"},
		{"size:16", "size:99999999", "line 9: size of field \"comm\": 99999999 is outside"},
		{"size:16", "size:x", "line 9: size of field"},
		{"\toffset:24;", "", "line 10: field \"pid\" without offset or size"},
		{"signed:1;\n\n\tfield:char", "colour:red;\n\n\tfield:char", "line 7: unknown part"},
	} {
		text := strings.Replace(wakeupFormat, tt.from, tt.to, 1)
		if text == wakeupFormat {
			t.Fatalf("%q changes nothing", tt.from)
		}
		if _, err := event.ParseFormat("sched", []byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: error %v, want %q in it", tt.to, tt.from, err, tt.want)
		}
	}
}

// A print fmt that is no C does not make the format useless.
func TestFailedPrintFmt(t *testing.T) {
	text := strings.Replace(wakeupFormat, "REC->pid\n", "REC->pid +\n", 1)
	typ, err := event.ParseFormat("sched", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if typ.PrintErr() == nil {
		t.Error("no error for a faulty print fmt")
	}
	if string(typ.Format()) != text {
		t.Errorf("format changed:\n%s", typ.Format())
	}
	data := make([]byte, 28)
	copy(data[8:], "bash")
	data[24] = 7
	if got, want := string(typ.AppendText(nil, data, nil)), "[FAILED TO PARSE] comm=bash pid=0x7 (7)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
