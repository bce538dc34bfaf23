package bridge

import (
	"encoding/binary"
	"testing"
)

// message is one of the connector's with these words as its event.
func message(what uint32, words ...uint32) []byte {
	msg := make([]byte, netlinkHeader+connectorHeader)
	msg = binary.NativeEndian.AppendUint32(msg, what)
	msg = append(msg, make([]byte, eventHeader-4)...)
	for _, w := range words {
		msg = binary.NativeEndian.AppendUint32(msg, w)
	}
	return msg
}

func TestParseNews(t *testing.T) {
	for _, c := range []struct {
		msg  []byte
		want news
		ok   bool
	}{
		{message(eventFork, 10, 9, 11, 11), news{forked, 9, 11}, true},
		{message(eventFork, 10, 9, 11, 9), news{threaded, 9, 0}, true},
		{message(eventFork, 10, 9), news{}, false}, // cut off
		{message(eventExec, 11, 11), news{execed, 11, 0}, true},
		{message(eventExit, 11, 11, 0, 17), news{exited, 11, 0}, true},
		{message(eventExit, 12, 11, 0, 17), news{}, false}, // of a thread
		{message(0x200, 11, 11), news{}, false},
		{nil, news{}, false},
	} {
		if got, ok := parseNews(c.msg); ok != c.ok || ok && got != c.want {
			t.Errorf("%x: %v, %v, want %v, %v", c.msg, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseNews(f *testing.F) {
	f.Add(message(eventFork, 10, 9, 11, 11))
	f.Add(message(eventExec, 10, 9))
	f.Fuzz(func(t *testing.T, msg []byte) { parseNews(msg) })
}
