package capture

import (
	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// catalogueTable has the events this program declares itself, for text that comes
// without the formats of its kernel.
func catalogueTable() (*event.Table, error) {
	return event.NewTable(events.All()...)
}
