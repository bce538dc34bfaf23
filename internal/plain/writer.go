package plain

import (
	"io"
	"sync"
	"unicode/utf8"
)

// chunk is how many bytes a Writer escapes at a time.
const chunk = 32 << 10

// Writer escapes a stream. Line feeds and tabs stay. A character may be split over
// several calls of Write; its beginning then waits for its end, or for Flush.
// Goroutines may share a Writer.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // the beginning of a character: at most utf8.UTFMax-1 bytes
	out  []byte
}

// NewWriter returns a Writer on to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write escapes p and writes it. An error is that of the underlying writer; n then
// counts the bytes of p before the part that failed.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n < len(p) {
		part := p[n:min(n+chunk, len(p))]
		text := append(w.rest, part...)
		end := len(text) - unfinished(text)
		w.out = escape(w.out[:0], string(text[:end]), "\n\t")
		w.rest = append([]byte(nil), text[end:]...)
		if len(w.out) > 0 {
			if _, err := w.to.Write(w.out); err != nil {
				return n, err
			}
		}
		n += len(part)
	}
	return n, nil
}

// Flush writes the beginning of a character that still waits for its end, as stray
// bytes.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(w.rest)
	w.rest = nil
	if text == "" {
		return nil
	}
	_, err := w.to.Write(escape(nil, text, ""))
	return err
}

// unfinished gives the length of the incomplete character at the end of text; 0 if
// there is none.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
