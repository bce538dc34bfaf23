package explain

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// narrowest and widest bound the width of text: a line of one word is hard to read, and
// so is one that is as wide as a wide screen.
const (
	narrowest = 20
	widest    = 100
)

// Write prints rows for a terminal of so many columns; 0 stands for 80. Commands to try are
// not broken into lines, so that they can be copied.
func Write(w io.Writer, list []Row, columns int) error {
	if columns == 0 {
		columns = 80
	}
	columns = min(max(columns, narrowest), widest)
	var b strings.Builder
	for n, r := range list {
		if n > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)\n", r.Name, r.Kind)
		wrap(&b, r.Text, columns)
		if r.Before != "" {
			wrap(&b, "Before: "+r.Before, columns)
		}
		wrap(&b, "Kernel: "+r.Kernel, columns)
		if r.Try != "" {
			fmt.Fprintf(&b, "  Try: %s\n", r.Try)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteList prints the names of rows, one a line, each with its kind.
func WriteList(w io.Writer, list []Row) error {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%-8s %s\n", r.Kind, r.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap writes text in lines that begin with two blanks.
func wrap(b *strings.Builder, text string, columns int) {
	at := 0
	for word := range strings.FieldsSeq(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString("  ")
			at = 2
		case at+1+width > columns:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += width
	}
	b.WriteByte('\n')
}
