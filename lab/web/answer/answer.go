// Package answer is what the page of package web asks of package lab. A [Call] is a
// function with words as arguments and a value that encoding/json can write. It is free of
// anything that needs a browser, so that a test can hold what the page gets against what a
// terminal prints.
package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ftracelab/lab"
)

// A Call answers one question of the page. Its error is a sentence for the reader.
type Call func(args []string) (any, error)

// Bytes is an answer that is not made into JSON.
type Bytes []byte

// Calls are the questions about steps, by their names:
//
//	scenarios                  the scenarios
//	step PLACE VIEWS                 a step with the pictures of these views
//	next PLACE VIEWS CONDITION BACK  the step after it of which that holds, or, with BACK "back", before it
//	find PLACE VIEWS CONDITION       a step to which choices lead, and of which that holds
//	wrote PLACE VIEWS PAGE OFFSET    the step that wrote this byte last
//	steps PLACE                      the list of all steps
//
// VIEWS are names with commas between; without any, the first two behind "step" are drawn.
func Calls() map[string]Call {
	return map[string]Call{
		"scenarios": func([]string) (any, error) { return scenarios(), nil },
		"step":      words(2, func(a []string) (any, error) { return step(a[0], a[1]) }),
		"next":      words(4, func(a []string) (any, error) { return next(a[0], a[1], a[2], a[3] == "back") }),
		"find":      words(3, func(a []string) (any, error) { return search(a[0], a[1], a[2]) }),
		"wrote":     words(4, func(a []string) (any, error) { return wrote(a[0], a[1], a[2], a[3]) }),
		"steps":     words(1, func(a []string) (any, error) { return steps(a[0]) }),
	}
}

// words checks how many arguments there are.
func words(n int, f Call) Call {
	return func(args []string) (any, error) {
		if len(args) != n {
			return nil, fmt.Errorf("answer: %d arguments, not %d", len(args), n)
		}
		return f(args)
	}
}

// A Scenario is one that can be chosen.
type Scenario struct {
	Name     string `json:"name"`
	Question string `json:"question"`
}

func scenarios() []Scenario {
	var all []Scenario
	for _, s := range lab.Scenarios() {
		all = append(all, Scenario{s.Name, s.Question})
	}
	return all
}

// A Step is a step of a scenario and all that can be seen of it.
type Step struct {
	Place    string   `json:"place"` // as lab.ParsePlace reads it
	Scenario string   `json:"scenario"`
	Step     int      `json:"step"`
	Total    int      `json:"total"`
	Who      string   `json:"who"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
	Kernel   string   `json:"kernel"`
	Can      []Act    `json:"can"`
	Choices  []string `json:"choices"` // what was chosen on the way
	Views    []View   `json:"views"`
	Kinds    []string `json:"kinds"` // that next can look for
}

// An Act is what can be chosen after a step.
type Act struct {
	Key  string `json:"key"` // the letter that stands in a place
	Name string `json:"name"`
}

// A View is a picture of a step. SVG and Text are "" if it was not asked for. SVG is "" as
// well if the picture has more than MaxCells cells, which takes a browser seconds to show.
type View struct {
	Name  string `json:"name"`
	Drawn bool   `json:"drawn"`
	SVG   string `json:"svg"`
	Text  string `json:"text"`
}

// MaxCells is how many cells a drawing may have.
const MaxCells = 6000

func step(place, views string) (*Step, error) {
	p, err := lab.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	return at(p, views)
}

func at(p lab.Place, views string) (*Step, error) {
	run, err := lab.Play(p)
	if err != nil {
		return nil, err
	}
	m := &run.Moment
	s := &Step{
		Place: run.Place.String(), Scenario: run.Place.Scenario, Step: run.Place.Step, Total: m.Total,
		Who: m.Step.Who, What: m.Step.What, Why: m.Why, Kernel: m.Kernel, Kinds: lab.KindNames(),
		Can: []Act{}, Choices: []string{},
	}
	for _, a := range m.Can {
		s.Can = append(s.Can, Act{string(rune(a)), a.String()})
	}
	for _, c := range run.Place.Choices {
		s.Choices = append(s.Choices, fmt.Sprintf("%d%c (%v)", c.After, byte(c.Do), c.Do))
	}
	all := m.Views()
	wanted := strings.Split(views, ",")
	if views == "" {
		wanted = all[1:min(3, len(all))]
	}
	for _, name := range all {
		v := View{Name: name}
		if slices.Contains(wanted, name) {
			if v, err = draw(m, name); err != nil {
				return nil, err
			}
		}
		s.Views = append(s.Views, v)
	}
	return s, nil
}

// draw is a view of a moment.
func draw(m *lab.Moment, name string) (View, error) {
	p, err := m.Picture(name)
	if err != nil {
		return View{}, err
	}
	var svg, text strings.Builder
	cells := 0
	for _, section := range p.Sections {
		for _, row := range section.Rows {
			cells += len(row)
		}
	}
	if cells <= MaxCells {
		if err := p.SVG(&svg); err != nil {
			return View{}, err
		}
	}
	if err := p.Text(&text, 0); err != nil {
		return View{}, err
	}
	return View{name, true, svg.String(), text.String()}, nil
}

func next(place, views, condition string, back bool) (*Step, error) {
	p, err := lab.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	c, err := lab.ParseCondition(condition)
	if err != nil {
		return nil, err
	}
	to, err := lab.Until(p, c, back)
	if err != nil {
		return nil, err
	}
	return at(to, views)
}

// searchRuns is how many runs a search in a page may play, which takes some seconds there.
const searchRuns = 5000

func search(place, views, condition string) (*Step, error) {
	p, err := lab.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	c, err := lab.ParseCondition(condition)
	if err != nil {
		return nil, err
	}
	found, err := lab.Find(p, c, lab.Search{Runs: searchRuns})
	if err != nil {
		return nil, err
	}
	return at(found.Place, views)
}

func wrote(place, views, page, offset string) (*Step, error) {
	p, err := lab.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	n, err1 := strconv.Atoi(page)
	o, err2 := strconv.Atoi(offset)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("answer: no byte %q of page %q", offset, page)
	}
	to, err := lab.Wrote(p, n, o)
	if err != nil {
		return nil, err
	}
	return at(to, views)
}

// maxListed is how many steps a list holds at most; it is cut around the step of its place.
const maxListed = 400

// A List is a part of the steps of a scenario.
type List struct {
	First int      `json:"first"` // the number of the first line
	Total int      `json:"total"`
	Lines []string `json:"lines"`
}

func steps(place string) (*List, error) {
	p, err := lab.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	run, err := lab.Play(p)
	if err != nil {
		return nil, err
	}
	from := max(0, run.Place.Step-maxListed/2)
	l := &List{First: from + 1, Total: len(run.Steps)}
	for _, s := range slices.Clone(run.Steps[from:min(len(run.Steps), from+maxListed)]) {
		l.Lines = append(l.Lines, strings.TrimSpace(s.Who+" "+s.What))
	}
	return l, nil
}
