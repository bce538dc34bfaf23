package event_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// A record of two words is the same, whichever way it is encoded.
func TestPutPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := events.FunctionRecord{IP: rapid.Uint64().Draw(t, "ip"), ParentIP: rapid.Uint64().Draw(t, "parent")}
		c := event.Common{Flags: rapid.Byte().Draw(t, "flags"), PreemptCount: rapid.Byte().Draw(t, "count"), PID: rapid.Int32().Draw(t, "pid")}
		want := events.Function.Append(nil, c, &r)
		got := bytes.Repeat([]byte{0xff}, len(want))
		if events.Function.PutPair(got, c, r.IP, r.ParentIP); !bytes.Equal(got, want) {
			t.Fatalf("% x, want % x", got, want)
		}
	})
}
