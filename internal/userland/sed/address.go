package sed

// selects reports whether the command's address selects the present line.
func (e *editor) selects(c *command) bool {
	switch {
	case c.from == nil:
		return true
	case c.to == nil:
		return e.matches(c.from)
	}
	until := &e.until[c.rangeID]
	switch {
	case *until > 0:
		if e.number >= *until {
			*until = 0
		}
		return true
	case *until < 0:
		if e.matches(c.to) {
			*until = 0
		}
		return true
	}
	zero := c.from.line == 0 && c.from.re == nil && !c.from.last && c.from.step < 0
	if zero && e.number == 1 {
		*until = -1
		if e.matches(c.to) {
			*until = 0
		}
		return true
	}
	if zero || !e.matches(c.from) {
		return false
	}
	switch {
	case c.to.offset:
		*until = e.number + c.to.line
	case c.to.re != nil, c.to.last:
		*until = -1
		if c.to.last && e.in.atEnd() {
			*until = 0
		}
		return true
	default:
		*until = c.to.line
	}
	if *until <= e.number {
		*until = 0
	}
	return true
}

func (e *editor) matches(a *address) bool {
	switch {
	case a.re != nil:
		return a.re.MatchString(e.pattern)
	case a.last:
		return e.in.atEnd()
	case a.step > 0:
		return e.number >= a.line && (e.number-a.line)%a.step == 0
	}
	return e.number == a.line
}
