package capture

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// catalogueTable gives the events that this program declares itself. It serves for text
// that comes without the formats of its kernel.
func catalogueTable() (*event.Table, error) {
	return event.NewTable(events.All()...)
}
