package fgraph

// SetPoint sets what runs at the places where an interrupt may come between.
func (g *Graph) SetPoint(point func(place string)) { g.point = point }
