package lab

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A Place is a step of a scenario, and what was chosen on the way to it. Its text
// is short enough for a URL, a command line and a report of a bug.
type Place struct {
	Scenario string
	Choices  []Choice // in the order of their steps
	Step     int      // 0 is the state before the first step; Last is the last step
}

// Last as the step of a Place is the last step that its scenario makes.
const Last = -1

// A Choice is something that happens after a step because somebody wants it to.
type Choice struct {
	After int // the number of the step
	Do    Act
}

// An Act is what can be chosen after a step.
type Act byte

// The acts. An interrupt comes only in a lower context than its own, and writes one
// event. Consume and Page come only between two events, as one step each. Other and Empty belong to the race of
// two CPUs in the stack map, Migrate and NMIs to a task's stay in the kernel.
const (
	SoftIRQ Act = 's'
	IRQ     Act = 'i'
	NMI     Act = 'n'
	Consume Act = 'r' // the reader takes one event
	Page    Act = 'p' // the reader takes a page
	Other   Act = 'c' // the other CPU goes on
	Empty   Act = 'z' // somebody empties the stack map
	Migrate Act = 'm' // the task goes on on the other CPU

	// A reader on another CPU makes its next operation, wherever the writer is. If it is
	// not in a call, it begins one that takes an event, or one that takes a page.
	Beside     Act = 'a'
	BesidePage Act = 'b'
)

func (a Act) String() string {
	switch a {
	case SoftIRQ:
		return "softirq"
	case IRQ:
		return "irq"
	case NMI:
		return "nmi"
	case Consume:
		return "consume"
	case Page:
		return "page"
	case Other:
		return "other cpu"
	case Empty:
		return "reset"
	case Migrate:
		return "migration"
	case Beside:
		return "reader step"
	case BesidePage:
		return "page reader step"
	}
	return "?"
}

// ParseActs reads the letters of acts, as they stand in a place.
func ParseActs(letters string) ([]Act, error) {
	var acts []Act
	for _, c := range []byte(letters) {
		a := Act(c)
		if a.String() == "?" {
			return nil, fmt.Errorf("lab: nothing is called %q; there are s, i, n, r, p, c, z, m, a and b", c)
		}
		acts = append(acts, a)
	}
	return acts, nil
}

// MaxChoices is how many choices a Place may hold.
const MaxChoices = 1000

// version is that of the places. It changes when the same place shows something else.
const version = 1

// String is the place as ParsePlace reads it.
func (p Place) String() string {
	var s strings.Builder
	s.WriteString(p.Scenario)
	s.WriteByte('?')
	for i, c := range p.Choices {
		if i == 0 {
			s.WriteString("do=")
		} else {
			s.WriteByte('.')
		}
		fmt.Fprintf(&s, "%d%c", c.After, byte(c.Do))
	}
	if len(p.Choices) > 0 {
		s.WriteByte('&')
	}
	if p.Step == Last {
		s.WriteString("step=last")
	} else {
		fmt.Fprintf(&s, "step=%d", p.Step)
	}
	fmt.Fprintf(&s, "&v=%d", version)
	return s.String()
}

// ParsePlace reads the text of a place. What is in front of the last slash or # is
// ignored, so a whole URL may be given. The order of the parts is free, and a part
// that is missing means no choices, step 0 and this version.
//
// The error says which part is wrong, and what it may be.
func ParsePlace(s string) (Place, error) {
	if i := strings.LastIndexAny(s, "/#"); i >= 0 {
		s = s[i+1:]
	}
	name, query, _ := strings.Cut(s, "?")
	p := Place{Scenario: name}
	if _, ok := find(name); !ok {
		return p, fmt.Errorf("lab: place: no scenario %q; there are %s", name, strings.Join(Names(), ", "))
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, fmt.Errorf("lab: place: %w", err)
	}
	for key, v := range values {
		if len(v) > 1 {
			return p, fmt.Errorf("lab: place: %s is there %d times", strconv.Quote(key), len(v))
		}
	}
	for _, key := range []string{"v", "do", "step"} {
		if values.Has(key) {
			if err := p.set(key, values.Get(key)); err != nil {
				return p, err
			}
			values.Del(key)
		}
	}
	if len(values) > 0 {
		return p, fmt.Errorf("lab: place: unknown part in %q; there are do, step and v", query)
	}
	return p, nil
}

func (p *Place) set(key, value string) error {
	switch key {
	case "v":
		if value != strconv.Itoa(version) {
			return fmt.Errorf("lab: place: version %q; this program reads version %d, another one would show other steps", value, version)
		}
	case "step":
		if value == "last" {
			p.Step = Last
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return fmt.Errorf("lab: place: step %q; it is a number from 0 on, or last", value)
		}
		p.Step = n
	case "do":
		for _, part := range strings.Split(value, ".") {
			c, err := parseChoice(part)
			if err != nil {
				return err
			}
			if n := len(p.Choices); n > 0 && c.After < p.Choices[n-1].After {
				return fmt.Errorf("lab: place: choice %q comes before %d; choices are in the order of their steps", part, p.Choices[n-1].After)
			}
			if len(p.Choices) == MaxChoices {
				return fmt.Errorf("lab: place: more than %d choices", MaxChoices)
			}
			p.Choices = append(p.Choices, c)
		}
	}
	return nil
}

func parseChoice(s string) (Choice, error) {
	if len(s) > 1 {
		n, err := strconv.Atoi(s[:len(s)-1])
		act := Act(s[len(s)-1])
		if err == nil && n >= 0 && act.String() != "?" {
			return Choice{n, act}, nil
		}
	}
	return Choice{}, fmt.Errorf("lab: place: choice %q; it is the number of a step and one of s (softirq), i (irq), n (nmi), r (a reader takes an event), p (a reader takes a page), c (the other CPU goes on), z (the map is reset), m (the task moves to the other CPU), a (a reader beside the writer makes its next operation), b (the same for a reader of pages)", s)
}
