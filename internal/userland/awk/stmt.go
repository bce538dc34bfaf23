package awk

import "strings"

type stmt interface{ exec(m *machine) jump }

type (
	blockStmt struct{ list []stmt }
	exprStmt  struct{ e expr }
	jumpStmt  struct{ to jump }
	exitStmt  struct{ status expr }
	ifStmt    struct {
		cond            expr
		then, otherwise []stmt
	}
	loopStmt struct {
		init, step stmt
		cond       expr // nil: for ever
		body       []stmt
		first      bool // do … while: the body runs before cond is asked
	}
	forInStmt struct {
		key, array int
		body       []stmt
	}
	deleteStmt struct {
		array int
		key   expr // nil: all of it
	}
	printStmt struct {
		list      []expr
		formatted bool
	}
)

func (s *blockStmt) exec(m *machine) jump { return m.block(s.list) }
func (s *jumpStmt) exec(*machine) jump    { return s.to }

func (s *exprStmt) exec(m *machine) jump {
	s.e.eval(m)
	return jumpNone
}

func (s *exitStmt) exec(m *machine) jump {
	if s.status != nil {
		m.status = int(s.status.eval(m).number()) & 0xff
	}
	return jumpExit
}

func (s *ifStmt) exec(m *machine) jump {
	if s.cond.eval(m).truth() {
		return m.block(s.then)
	}
	return m.block(s.otherwise)
}

func (s *loopStmt) exec(m *machine) jump {
	if s.init != nil {
		s.init.exec(m)
	}
	for first := s.first; first || s.cond == nil || s.cond.eval(m).truth(); first = false {
		m.check()
		switch j := m.block(s.body); j {
		case jumpBreak:
			return jumpNone
		case jumpNext, jumpExit:
			return j
		}
		if s.step != nil {
			s.step.exec(m)
		}
	}
	return jumpNone
}

func (s *forInStmt) exec(m *machine) jump {
	for _, key := range m.arrays[s.array].keys() {
		m.check()
		m.setVar(s.key, input(key))
		switch j := m.block(s.body); j {
		case jumpBreak:
			return jumpNone
		case jumpNext, jumpExit:
			return j
		}
	}
	return jumpNone
}

func (s *deleteStmt) exec(m *machine) jump {
	if s.key == nil {
		m.clearArray(s.array)
		return jumpNone
	}
	m.deleteElem(s.array, s.key.eval(m).string(m.convfmt()))
	return jumpNone
}

func (s *printStmt) exec(m *machine) jump {
	if s.formatted {
		m.write(m.format(s.list))
		return jumpNone
	}
	ors := m.vars[varORS].string(m.convfmt())
	if len(s.list) == 0 {
		m.write(m.getRecord() + ors)
		return jumpNone
	}
	parts := make([]string, len(s.list))
	for i, e := range s.list {
		parts[i] = e.eval(m).string(m.vars[varOFMT].s)
	}
	m.write(strings.Join(parts, m.vars[varOFS].string(m.convfmt())) + ors)
	return jumpNone
}

// format is sprintf over the values of a list, whose first is the format.
func (m *machine) format(list []expr) string {
	args := make([]value, len(list))
	for i, e := range list {
		args[i] = e.eval(m)
	}
	var b strings.Builder
	if err := sprintf(&b, args[0].string(m.convfmt()), args[1:]); err != nil {
		panic(fault{err})
	}
	return b.String()
}
