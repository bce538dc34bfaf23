package tracefile

// Events are what poll(2) says of an open file.
type Events uint32

// The events that files of a tracefs have. PollAlways is what poll(2) says of a file that
// knows nothing of it: reading and writing do not wait.
//
// Kernel: include/uapi/linux/eventpoll.h; DEFAULT_POLLMASK, include/linux/poll.h.
const (
	PollIn     Events = 0x001
	PollPri    Events = 0x002 // something has happened since the last look
	PollOut    Events = 0x004
	PollErr    Events = 0x008
	PollRdNorm Events = 0x040
	PollWrNorm Events = 0x100

	PollAlways = PollIn | PollOut | PollRdNorm | PollWrNorm
)

// Readable is what poll(2) says of a file from which one can read now, if yes is set.
func Readable(yes bool) Events {
	if !yes {
		return 0
	}
	return PollIn | PollRdNorm
}
