package event

import (
	"fmt"
	"slices"
)

// Table holds event types by id and by name, in the order they were added. The
// zero Table is empty and ready. It may be read concurrently but not while one
// is added.
type Table struct {
	types  []*Type
	byID   map[int]*Type
	byName map[[2]string]*Type
}

// NewTable makes a table of types. Errors: as Add.
func NewTable(types ...*Type) (*Table, error) {
	t := new(Table)
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
	return nil
}

// Remove takes a type out, as when a dynamic event is deleted. It reports
// whether the type was there.
func (t *Table) Remove(typ *Type) bool {
	i := slices.Index(t.types, typ)
	if i < 0 {
		return false
	}
	t.types = slices.Delete(t.types, i, i+1)
	delete(t.byID, typ.ID)
	delete(t.byName, [2]string{typ.System, typ.Name})
	return true
}

// ByID finds the type of a record by its common_type; nil if there is none.
func (t *Table) ByID(id int) *Type { return t.byID[id] }

// ByName finds a type; nil if there is none.
func (t *Table) ByName(system, name string) *Type { return t.byName[[2]string{system, name}] }

// All is every type in the order they were added. The slice belongs to the table.
func (t *Table) All() []*Type { return t.types }
