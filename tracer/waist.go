package tracer

import "ftracelab/tracer/record"

// The waist has a package of its own; these are its names as importers know them here.
type (
	Record = record.Record
	Source = record.Source
	Kind   = record.Kind
)

// The kinds of Record.
const (
	Event       = record.Event
	KernelStack = record.KernelStack
	UserStack   = record.UserStack
	Lost        = record.Lost
	LostUnknown = record.LostUnknown
)
