package workload

// score counts the functions on the ways below s that c, a call of the same function, comes
// to as well, in the same order.
func (w *weaver) score(s *step, c call) int {
	if len(s.calls) == 0 {
		return 0
	}
	key := scored{s, c}
	if n, ok := w.scores[key]; ok {
		return n
	}
	_, n := w.align(s, c)
	w.scores[key] = n
	return n
}

// worth is what it is worth to take the call made for s.
func (w *weaver) worth(s *step, made call) int {
	last, ok := w.loom.comes(made, s.fn)
	if !ok {
		return 0
	}
	return 1 + w.score(s, last)
}

// align finds for the calls of s those in c, so that as many functions as possible have one.
// It gives, for each call in c, 1 more than the index among those of s; 0: it is beside the
// ways. If there is only one call, the first of the best ones is taken.
func (w *weaver) align(s *step, c call) (of []int16, total int) {
	l, m, n := w.loom, len(s.calls), 0
	for made, ok := l.first(c); ok; made, ok = l.next(c, made) {
		n++
	}
	of = make([]int16, n)
	if m == 0 || n == 0 {
		return of, 0
	}
	if m == 1 {
		best, j := -1, 0
		for made, ok := l.first(c); ok; made, ok = l.next(c, made) {
			if v := w.worth(s.calls[0], made); v > total {
				best, total = j, v
			}
			j++
		}
		if best >= 0 {
			of[best] = 1
		}
		return of, total
	}
	worth, best := make([]int, m*n), make([]int, (m+1)*(n+1))
	j := 0
	for made, ok := l.first(c); ok; made, ok = l.next(c, made) {
		for i, call := range s.calls {
			worth[i*n+j] = w.worth(call, made)
		}
		j++
	}
	at := func(i, j int) int { return i*(n+1) + j }
	for i := m - 1; i >= 0; i-- {
		for j := n - 1; j >= 0; j-- {
			best[at(i, j)] = max(best[at(i+1, j)], best[at(i, j+1)], worth[i*n+j]+best[at(i+1, j+1)])
		}
	}
	for i, j := 0, 0; i < m && j < n; {
		switch v := worth[i*n+j]; {
		case v > 0 && best[at(i, j)] == v+best[at(i+1, j+1)]:
			of[j] = int16(i + 1)
			i, j = i+1, j+1
		case best[at(i, j)] == best[at(i+1, j)]:
			i++
		default:
			j++
		}
	}
	return of, best[0]
}
