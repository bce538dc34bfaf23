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
		{message(eventFork, 10, 9, 11, 11), news{what: forked, pid: 9, child: 11}, true},
		{message(eventFork, 10, 9, 11, 9), news{what: threaded, pid: 9, child: 11}, true},
		{message(eventFork, 10, 9), news{}, false}, // cut off
		{message(eventExec, 11, 11), news{what: execed, pid: 11}, true},
		{message(eventExit, 11, 11, 0, 17), news{what: exited, pid: 11}, true},
		{message(eventExit, 12, 11, 0, 17), news{what: exited, pid: 12}, true}, // of a thread
		{message(eventComm, 12, 11, 0x6b726f77, 0x722d7265, 0, 0), news{what: renamed, pid: 12, comm: "worker-r"}, true},
		{message(eventComm, 12, 11, 0x6b726f77), news{}, false}, // cut off
		{message(0x80, 11, 11), news{}, false},
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
	f.Add(message(eventComm, 10, 9, 0x6b726f77, 0, 0, 0))
	f.Fuzz(func(t *testing.T, msg []byte) { parseNews(msg) })
}
