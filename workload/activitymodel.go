package workload

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/gob"
	"fmt"
	"io"
	"sync"

	"ftracelab/machine"
)

//go:generate go run ../internal/learn -activities activities.bin.gz -formats ../tracer/event/events/ext4.txt.gz

//go:embed activities.bin.gz
var activityImage []byte

// Activities is what was learned of subsystems that the machine does not model: which
// functions run when a file is written or a packet sent, which events they pass, and in
// which task.
type Activities struct {
	Modules    []ActivityModule // not among the rest in the image, but in front of it
	Sites      []machine.Site
	Slabs      []machine.Slab
	Happenings []machine.Happening
	Templates  []Template
	Pieces     []ActivityPiece
	List       []Activity
}

// ActivityModule is a module of the captured kernel, with its functions at their
// addresses.
type ActivityModule struct {
	Name    string
	Symbols []machine.Symbol
}

// ActivityPiece is the handling of an interrupt that an event raises.
type ActivityPiece struct {
	Template int
	After    machine.Time
	IRQ      int
	Handler  string
}

// Activity is one kind of work: what a process did in a capture, and what kernel threads
// and other processes did for it.
type Activity struct {
	Name   string
	Doc    string
	Events []string // the events that happen in it, sorted
	Roles  []Role   // the first one is the process that begins a round
	Step   uint64   // how much QuantityRound grows from round to round
}

// Role is a task of an activity. In its code, EvSchedWaking with the operand
// [WakeRole] + n wakes role n, counted through all activities.
type Role struct {
	Comm   string
	Kernel bool
	Stays  []ScriptStay
}

// WakeRole is the operand of wake-ups in the code of an activity that wake its first
// role. Smaller ones are the wake-up classes of all other code; WakeNobody wakes none.
const (
	WakeRole   = 1 << 8
	WakeNobody = WakeRole - 1
)

// ActivityEvents names an activity and the events that happen in it. The image begins
// with those of all activities, so that a machine can offer them before it unpacks the
// rest.
type ActivityEvents struct {
	Name   string
	Events []string
}

// activityHead is the beginning of the image: the offers, and the modules.
type activityHead struct {
	offers  []ActivityEvents
	modules []ActivityModule
}

// loadActivityHead reads the beginning of the image.
var loadActivityHead = sync.OnceValues(func() (h activityHead, err error) {
	z, err := gzip.NewReader(bytes.NewReader(activityImage))
	if err != nil {
		return h, fmt.Errorf("activities: %w", err)
	}
	_, err = h.read(z)
	return h, err
})

// loadActivities unpacks the image.
var loadActivities = sync.OnceValues(func() (*Activities, error) {
	z, err := gzip.NewReader(bytes.NewReader(activityImage))
	if err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	return DecodeActivities(z)
})

// DecodeActivities reads what Encode has written.
func DecodeActivities(r io.Reader) (*Activities, error) {
	var head activityHead
	d, err := head.read(r)
	if err != nil {
		return nil, err
	}
	a := new(Activities)
	if err := d.Decode(a); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	a.Modules = head.modules
	return a, nil
}

// read reads the beginning and returns the decoder, which stands before the Activities.
func (h *activityHead) read(r io.Reader) (*gob.Decoder, error) {
	d := gob.NewDecoder(r)
	if err := d.Decode(&h.offers); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	if err := d.Decode(&h.modules); err != nil {
		return nil, fmt.Errorf("activities: %w", err)
	}
	return d, nil
}

// Encode writes the image, which loadActivities reads.
func (a *Activities) Encode(w io.Writer) error {
	rest := *a
	rest.Modules = nil
	e := gob.NewEncoder(w)
	for _, part := range []any{a.Offers(), a.Modules, &rest} {
		if err := e.Encode(part); err != nil {
			return fmt.Errorf("activities: %w", err)
		}
	}
	return nil
}

// Offers gives the events of each activity.
func (a *Activities) Offers() (offers []ActivityEvents) {
	for i := range a.List {
		offers = append(offers, ActivityEvents{a.List[i].Name, a.List[i].Events})
	}
	return offers
}
