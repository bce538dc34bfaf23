package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"ftracelab/budget"
)

// Unique is how many different stacks there were.
func (s *Stacks) Unique() uint64 {
	if s == nil {
		return 0
	}
	return s.Growth[len(s.Growth)-1][1]
}

// learnedStacks counts stacks by a hash of their addresses.
type learnedStacks struct {
	count  map[uint64]stackCount
	seen   uint64
	growth []Pair
	next   uint64 // when the growth has its next point
	tree   callTree
	own    map[int]uint64
}

type stackCount struct {
	count uint64
	depth int
}

// stackCost is the memory that one more different stack takes.
const stackCost = 80

func (s *learnedStacks) add(ips []uint64, memory *budget.Budget) error {
	if s.count == nil {
		s.count, s.tree, s.own = map[uint64]stackCount{}, callTree{}, map[int]uint64{}
	}
	h := mix(uint64(len(ips)))
	for _, ip := range ips {
		h = mix(h ^ ip)
	}
	c := s.count[h]
	if c.count == 0 {
		if len(s.count) == maxStacks {
			return fmt.Errorf("more than %d different stacks: a model holds no more", maxStacks)
		}
		if err := memory.Take(stackCost, "the different stacks of a model"); err != nil {
			return err
		}
		c.depth = min(len(ips), maxDepth)
		if len(s.count) < treeStacks {
			own := min(s.tree.add(ips), maxDepth)
			if err := memory.Take(int64(own)*frameCost, "the call tree of a model"); err != nil {
				return err
			}
			s.own[own]++
		}
	}
	c.count++
	s.count[h] = c
	if s.seen++; s.seen >= s.next {
		s.growth = append(s.growth, Pair{s.seen, uint64(len(s.count))})
		s.next = max(s.seen+1, uint64(growthStep*float64(s.seen)))
	}
	return nil
}

// mix spreads the bits of v: the finalizer of splitmix64.
func mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

func (s *learnedStacks) model() *Stacks {
	if s.seen == 0 {
		return nil
	}
	out := &Stacks{Growth: s.growth}
	if last := out.Growth[len(out.Growth)-1]; last[0] < s.seen {
		out.Growth = append(out.Growth, Pair{s.seen, uint64(len(s.count))})
	}
	alike := map[stackCount]uint64{}
	for _, c := range s.count {
		alike[c]++
	}
	for _, c := range slices.SortedFunc(maps.Keys(alike), func(a, b stackCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.depth, b.depth))
	}) {
		out.Ranked = append(out.Ranked, Triple{c.count, uint64(c.depth), alike[c]})
	}
	out.Ranked = shortened(out.Ranked, keptRanked)
	for _, own := range slices.Sorted(maps.Keys(s.own)) {
		out.Own = append(out.Own, Pair{uint64(own), s.own[own]})
	}
	if s.seen >= lawStacks {
		c := curve{points: out.Growth}
		late := math.Log2(c.at(float64(s.seen)) / c.at(float64(s.seen)/2))
		exponent := rounded(min(max(0, late), 1))
		out.Exponent = &exponent
	}
	return out
}

// shortened keeps the most common rows. The others are put together by the number of
// their addresses; their stacks then come as often as they do on average.
func shortened(rows []Triple, limit int) []Triple {
	if len(rows) <= limit {
		return rows
	}
	rare := map[uint64]Pair{} // by addresses: stacks, and how often they came
	for _, r := range rows[limit:] {
		p := rare[r[1]]
		rare[r[1]] = Pair{p[0] + r[2], p[1] + r[0]*r[2]}
	}
	rows = rows[:limit:limit]
	for _, depth := range slices.Sorted(maps.Keys(rare)) {
		p := rare[depth]
		rows = append(rows, Triple{max(1, (p[1]+p[0]/2)/p[0]), depth, p[0]})
	}
	slices.SortStableFunc(rows, func(a, b Triple) int { return cmp.Compare(b[0], a[0]) })
	return rows
}

// curve is how many of the first n stacks are different: straight between its points, and
// behind the last one by Heaps' law.
type curve struct {
	points   []Pair
	exponent float64
	next     int // the point at which at has stopped
}

// at is the curve at n. It is fast if n grows from call to call.
func (c *curve) at(n float64) float64 {
	if c.next > 0 && float64(c.points[c.next-1][0]) > n {
		c.next = 0
	}
	for c.next < len(c.points) && float64(c.points[c.next][0]) < n {
		c.next++
	}
	from := Pair{}
	if c.next > 0 {
		from = c.points[c.next-1]
	}
	if c.next == len(c.points) {
		return float64(from[1]) * math.Pow(n/float64(from[0]), c.exponent)
	}
	to := c.points[c.next]
	part := (n - float64(from[0])) / float64(to[0]-from[0])
	return float64(from[1]) + part*float64(to[1]-from[1])
}
