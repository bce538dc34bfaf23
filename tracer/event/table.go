package event

import (
	"fmt"
	"slices"
	"syscall"
)

// Table finds event types by id and by name, and lists them in the order in which they
// were added. The zero Table is empty and ready for use. Several goroutines may read
// it, but not while a type is added or removed.
type Table struct {
	types   []*Type
	byID    map[int]*Type
	byName  map[[2]string]*Type
	changes int
	taken   int // all ids from firstFree up to, but not including, this one are taken
}

// The ids for events that are defined at run time: from the first one above the types
// that tracers write to the last one for which a record has room.
//
// Kernel: __TRACE_LAST_TYPE and TRACE_EVENT_TYPE_MAX, kernel/trace/trace.h and
// trace_output.c.
const (
	firstFree = 20
	lastFree  = 1<<16 - 1
)

// NewTable makes a table of types. Errors: as Add.
func NewTable(types ...*Type) (*Table, error) {
	t := &Table{
		types:  make([]*Type, 0, len(types)),
		byID:   make(map[int]*Type, len(types)),
		byName: make(map[[2]string]*Type, len(types)),
	}
	for _, typ := range types {
		if err := t.Add(typ); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Add appends a type. Errors: its id or its system and name are taken.
func (t *Table) Add(typ *Type) error {
	if t.byID == nil {
		t.byID = make(map[int]*Type)
		t.byName = make(map[[2]string]*Type)
	}
	if old := t.byID[typ.ID]; old != nil {
		return fmt.Errorf("event %s: id %d belongs to %s", typ, typ.ID, old)
	}
	key := [2]string{typ.System, typ.Name}
	if old := t.byName[key]; old != nil {
		return fmt.Errorf("event %s: exists with id %d", typ, old.ID)
	}
	t.byID[typ.ID], t.byName[key] = typ, typ
	t.types = append(t.types, typ)
	t.changes++
	return nil
}

// FreeID is the id that the kernel would give to another event: the lowest that is
// free. Errors: ENODEV if there is none.
//
// Kernel: alloc_trace_event_type, kernel/trace/trace_output.c.
func (t *Table) FreeID() (int, error) {
	id := max(t.taken, firstFree)
	for t.byID[id] != nil {
		id++
	}
	if t.taken = id; id > lastFree {
		return 0, fmt.Errorf("no event id is free: %w", syscall.ENODEV)
	}
	return id, nil
}

// Changes counts the types that were added and removed. While it does not change, an id
// stands for the same event.
func (t *Table) Changes() int { return t.changes }

// Remove removes a type, for example of a dynamic event that is deleted. It reports
// whether the type was there.
func (t *Table) Remove(typ *Type) bool {
	i := slices.Index(t.types, typ)
	if i < 0 {
		return false
	}
	t.types = slices.Delete(t.types, i, i+1)
	delete(t.byID, typ.ID)
	delete(t.byName, [2]string{typ.System, typ.Name})
	t.changes++
	t.taken = min(t.taken, typ.ID)
	return true
}

// ByID finds the type of a record by its common_type; nil if there is none.
func (t *Table) ByID(id int) *Type { return t.byID[id] }

// ByName finds a type; nil if there is none.
func (t *Table) ByName(system, name string) *Type { return t.byName[[2]string{system, name}] }

// All is every type in the order they were added. The slice belongs to the table.
func (t *Table) All() []*Type { return t.types }
