package lineedit

import (
	"fmt"
	"strings"
)

// leastList is how many lines a list of names may take on the smallest screen.
const leastList = 3

// columns lists names below each other and then side by side, in at most some lines. If
// there are more, it says how many.
func columns(names []string, width, most int) string {
	widest := 0
	for _, name := range names {
		widest = max(widest, Width(name))
	}
	across := max(1, (width+1)/(widest+2))
	more := 0
	if fit := across * most; len(names) > fit {
		fit = max(across*(most-1), 1)
		names, more = names[:fit], len(names)-fit
	}
	high := (len(names) + across - 1) / across
	var b strings.Builder
	for line := range high {
		for i := line; i < len(names); i += high {
			b.WriteString(names[i])
			if i+high < len(names) {
				b.WriteString(strings.Repeat(" ", widest+2-Width(names[i])))
			}
		}
		b.WriteString("\r\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "… and %d more\r\n", more)
	}
	return b.String()
}
