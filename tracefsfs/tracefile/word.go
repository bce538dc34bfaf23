package tracefile

import "context"

// OnWord returns the file with store called for the first word of each write,
// also if the write ends with it. The write says how far it came, and a program
// comes again with the rest; a write of blanks is taken and does nothing.
//
// Kernel: trace_get_user with a parser of one call, as ftrace_event_write uses
// it, kernel/trace/trace_events.c.
func (f *File) OnWord(size int, store func(word string) error) *File {
	return f.wrapping(func(w *wrap) {
		w.write = func(_ context.Context, p []byte) (int, error) {
			parser := Parser{Size: size}
			n, word, err := parser.Get(p)
			if word == "" {
				word = parser.Rest()
			}
			if err != nil || word == "" {
				return n, err
			}
			if err := store(word); err != nil {
				return 0, err
			}
			return n, nil
		}
	})
}
