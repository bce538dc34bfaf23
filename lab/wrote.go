package lab

import (
	"errors"
	"fmt"
	"slices"
)

// written remembers which step was the last to change each byte of a page.
type written struct {
	id, offset int
	before     []byte // the page as it was
	step       int    // the last one that changed the byte at offset; -1: none
}

func (w *written) look(p *player, n int) {
	if n > p.place.Step {
		return
	}
	var m Moment
	p.copy(&m)
	if m.Ring == nil {
		return
	}
	for _, page := range m.Ring.Pages {
		if page.ID != w.id || w.offset >= len(page.Bytes) {
			continue
		}
		if w.before != nil && w.before[w.offset] != page.Bytes[w.offset] {
			w.step = n
		}
		w.before = slices.Clone(page.Bytes)
	}
}

// Wrote is the place of the step that was the last, up to that of p, to change the
// byte at offset of the page with this id, as a [Moment] numbers pages. The offset
// counts from the page's header.
//
// It is an error if there is no such byte, or if no step has changed it.
func Wrote(p Place, id, offset int) (Place, error) {
	r, err := Play(p)
	if err != nil {
		return p, err
	}
	if r.Moment.Ring == nil {
		return p, errors.New("lab: this scenario has no ring buffer")
	}
	i := slices.IndexFunc(r.Moment.Ring.Pages, func(s pageState) bool { return s.ID == id })
	if i < 0 || offset < 0 || offset >= max(len(r.Moment.Ring.Pages[i].Bytes), 1) {
		return p, fmt.Errorf("lab: no byte %d of page %d; there are %d pages", offset, id, len(r.Moment.Ring.Pages))
	}
	w := &written{id: id, offset: offset, step: -1}
	sc, _ := find(p.Scenario)
	pl := &player{place: r.Place, listed: true}
	pl.look = func(n int, _ Step) { w.look(pl, n) }
	sc.play(pl)
	if w.step < 0 {
		return p, fmt.Errorf("lab: nobody has written byte %d of page %d up to step %d", offset, id, r.Place.Step)
	}
	at := r.Place
	at.Step = w.step
	// What was chosen later does not belong to the way there.
	at.Choices = slices.DeleteFunc(slices.Clone(at.Choices), func(c Choice) bool { return c.After > at.Step })
	return at, nil
}
