package output

import (
	"ftracelab/fgraph"
	"ftracelab/tracer/event"
)

func (r *record) line() fgraph.Line {
	return fgraph.Line{CPU: r.CPU, Time: r.Time, Common: r.common}
}

// appendGraph appends an entry of the call graph: a call, a return, or any other entry,
// which becomes a comment.
//
// Kernel: print_graph_function_flags and print_graph_comment,
// kernel/trace/trace_functions_graph.c.
func (p *Printer) appendGraph(dst []byte, r *record, m *Merge, reader int) []byte {
	if k := r.shape.kind; k == graphEntry || k == graphExit {
		return p.appendGraphRecord(dst, p.graph, r, m, reader)
	}
	dst = p.graph.BeginComment(dst, r.line())
	switch {
	case r.shape.isPrintk():
		dst = p.appendMessage(dst, r)
	case r.shape.kind == unknownEntry:
		// There is no text, not even the end of the line, so the plain form prints it.
		return p.appendLine(dst, r, m, reader)
	default:
		dst = p.appendText(dst, r, m, reader)
	}
	return p.graph.EndComment(dst)
}

// appendGraphRecord appends a funcgraph_entry or funcgraph_exit record. For a call, it
// looks at the next record of the CPU. If that is the return of this call, both become
// one line.
func (p *Printer) appendGraphRecord(dst []byte, t *fgraph.Text, r *record, m *Merge, reader int) []byte {
	if r.shape.kind == graphExit {
		return t.Return(dst, r.line(), r.ret())
	}
	line, call := r.line(), fgraph.CallRecord{Func: r.u64(0), Depth: int32(r.u32(1))}
	next, pid, ok := p.peekReturn(m, reader)
	if !ok {
		dst, _ = t.Call(dst, line, call, nil, 0)
		return dst
	}
	dst, leaf := t.Call(dst, line, call, &next, pid)
	if leaf {
		m.SkipAt(reader)
	}
	return dst
}

// peekReturn looks at the next record of a CPU and decodes it if it is a return.
//
// Kernel: get_return_for_leaf.
func (p *Printer) peekReturn(m *Merge, reader int) (ret fgraph.RetRecord, pid int32, ok bool) {
	e, ok := m.PeekAt(reader)
	if !ok || len(e.Data) < event.CommonSize {
		return ret, 0, false
	}
	next := record{Entry: e, common: event.ParseCommon(e.Data)}
	next.shape = p.shapeOf(int(next.common.Type))
	if next.shape.kind != graphExit {
		return ret, 0, false
	}
	return next.ret(), next.common.PID, true
}

func (r *record) ret() fgraph.RetRecord {
	return fgraph.RetRecord{
		Func:     r.u64(0),
		Depth:    int32(r.u32(1)),
		Overrun:  r.u32(2),
		Calltime: r.u64(3),
		Rettime:  r.u64(4),
		Retval:   r.u64(5),
	}
}
