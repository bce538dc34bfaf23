package html

import (
	"cmp"
	"fmt"
	"slices"

	"ftracelab/report"
)

// flame is a flame graph of the top stacks, with the outermost functions at the top. Its
// cells are in the order in which a reader goes through the stacks: each before those
// that it called.
type flame struct {
	ID, Label string
	Height    int // in pixels
	Cells     []flameCell
	Note      string // what is not drawn; empty: nothing
}

// flameCell is one function in the same place of some stacks. It is as wide as the share
// of the stacks that have it.
type flameCell struct {
	Name, Title, Colour string
	X, Width            string // in percent
	Row, Y              int
}

// rowHeight is that of a row of cells in pixels. No more than maxRows are drawn, and no
// more stacks than have maxCells cells together.
const (
	rowHeight = 20
	maxRows   = 64
	maxCells  = 2000
)

// newFlame draws the stacks; it is nil if there are none.
func newFlame(id string, stacks []report.TopStack) *flame {
	root := &flameNode{name: "top stacks"}
	drawn, cells, deep := 0, 0, 0
	for i := range stacks {
		s := &stacks[i]
		path := append([]string{s.Kind}, callers(s)...)
		if cells += len(path); cells > maxCells && drawn > 0 {
			break
		}
		if len(path) >= maxRows {
			path = path[:maxRows-1]
			deep++
		}
		root.add(path, s)
		drawn++
	}
	if root.count == 0 {
		return nil
	}
	f := &flame{ID: id, Label: fmt.Sprintf("Flame graph of the %d top stacks; the list below has the same stacks", drawn)}
	f.draw(root, root, root.most(), 0, 0)
	if drawn < len(stacks) {
		f.Note = fmt.Sprintf("The first %d of %d stacks are drawn. ", drawn, len(stacks))
	}
	if deep > 0 {
		f.Note += fmt.Sprintf("Of %d stacks only the outermost %d addresses are drawn.", deep, maxRows-2)
	}
	return f
}

// callers is the stack with the outermost function first.
func callers(s *report.TopStack) []string {
	frames := slices.Clone(frames(s))
	slices.Reverse(frames)
	return frames
}

// flameNode is a function with those that it called.
type flameNode struct {
	name         string
	count, saved uint64
	calls        []*flameNode
}

func (n *flameNode) add(path []string, s *report.TopStack) {
	n.count += s.Count
	n.saved += s.Saved
	if len(path) == 0 {
		return
	}
	at := slices.IndexFunc(n.calls, func(c *flameNode) bool { return c.name == path[0] })
	if at < 0 {
		at = len(n.calls)
		n.calls = append(n.calls, &flameNode{name: path[0]})
	}
	n.calls[at].add(path[1:], s)
}

// each is how many bytes an id saves for each of the node's stacks, on average.
func (n *flameNode) each() float64 { return float64(n.saved) / float64(max(1, n.count)) }

// most is the largest each of the node and all below it.
func (n *flameNode) most() float64 {
	most := n.each()
	for _, c := range n.calls {
		most = max(most, c.most())
	}
	return most
}

// draw adds the cells of n and of all below it, from before counts on.
func (f *flame) draw(n, root *flameNode, most float64, before uint64, row int) {
	share := func(count uint64) float64 { return 100 * float64(count) / float64(root.count) }
	f.Cells = append(f.Cells, flameCell{
		Name: n.name, Row: row, Y: row * rowHeight, Colour: warmth(n.each() / max(1, most)),
		X: fmt.Sprintf("%.4f", share(before)), Width: fmt.Sprintf("%.4f", share(n.count)),
		Title: fmt.Sprintf("%s: %s stacks, %s of those drawn; ids save %s, %.0f bytes for each",
			n.name, report.Group(n.count), percent(share(n.count)), report.Bytes(int64(n.saved)), n.each()),
	})
	f.Height = max(f.Height, (row+1)*rowHeight)
	slices.SortStableFunc(n.calls, func(a, b *flameNode) int { return cmp.Compare(b.count, a.count) })
	for _, c := range n.calls {
		f.draw(c, root, most, before, row+1)
		before += c.count
	}
}

// warmth is a colour from pale yellow (0) to a warm red (1), on which black is legible.
func warmth(x float64) string {
	return fmt.Sprintf("hsl(%.0f 85%% %.0f%%)", 55-50*x, 84-16*x)
}
