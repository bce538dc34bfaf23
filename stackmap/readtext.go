package stackmap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextRecord is one stack of the text of stack_map.
type TextRecord struct {
	ID, Ref uint32
	Frames  []string // innermost first: name+0xoff/0xsize, maybe with a module, or a number
}

// maxTextLine bounds a line of stack_map: a symbol has at most 511 bytes, and its
// module 55.
//
// Kernel: KSYM_NAME_LEN and MODULE_NAME_LEN, include/linux/kallsyms.h and module.h.
const maxTextLine = 4096

// ReadText reads the text of stack_map, as [Map.WriteText] writes it, and hands
// each stack to take, which may keep the record and its frames. An empty text
// is an empty map. ReadText holds one stack at a time.
//
// Errors name the line; an error of take ends the reading. A stack must have as
// many frames as its first line says; a text that ends inside of one wraps
// io.ErrUnexpectedEOF.
//
// Kernel: stackmap_seq_show, kernel/trace/trace_stackmap.c.
func ReadText(r io.Reader, take func(TextRecord) error) error {
	t := &textReader{r: bufio.NewReaderSize(r, maxTextLine)}
	for {
		rec, depth, err := t.head()
		if errors.Is(err, io.EOF) {
			return nil
		}
		for err == nil && len(rec.Frames) < depth {
			var frame string
			if frame, err = t.frame(len(rec.Frames)); err == nil {
				rec.Frames = append(rec.Frames, frame)
			}
		}
		if err == nil {
			err = take(rec)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", t.line, err)
		}
	}
}

// textReader reads lines.
type textReader struct {
	r    *bufio.Reader
	line int
}

// next returns the next line without its newline, or io.EOF if there is none.
func (t *textReader) next() ([]byte, error) {
	line, err := t.r.ReadSlice('\n')
	switch {
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
	case errors.Is(err, bufio.ErrBufferFull):
		t.line++
		return nil, fmt.Errorf("more than %d bytes", maxTextLine)
	default:
		return nil, err
	}
	t.line++
	return bytes.TrimRight(line, "\r\n"), nil
}

// head skips empty lines and reads "stack_id N [ref R, depth D]".
func (t *textReader) head() (rec TextRecord, depth int, err error) {
	var line []byte
	for len(line) == 0 {
		if line, err = t.next(); err != nil {
			return rec, 0, err
		}
	}
	id, rest, ok1 := strings.Cut(string(line), " [ref ")
	id, ok2 := strings.CutPrefix(id, "stack_id ")
	ref, rest, ok3 := strings.Cut(rest, ", depth ")
	rest, ok4 := strings.CutSuffix(rest, "]")
	n1, err1 := strconv.ParseUint(id, 10, 32)
	n2, err2 := strconv.ParseUint(ref, 10, 32)
	n3, err3 := strconv.ParseUint(rest, 10, 16)
	if !ok1 || !ok2 || !ok3 || !ok4 || errors.Join(err1, err2, err3) != nil {
		return rec, 0, fmt.Errorf("no first line of a stack: %.60q", line)
	}
	return TextRecord{ID: uint32(n1), Ref: uint32(n2)}, int(n3), nil
}

// frame reads "  [I] FRAME".
func (t *textReader) frame(i int) (string, error) {
	line, err := t.next()
	if errors.Is(err, io.EOF) {
		t.line++
		return "", fmt.Errorf("inside a stack: %w", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return "", err
	}
	frame, ok := strings.CutPrefix(string(line), "  ["+strconv.Itoa(i)+"] ")
	if !ok || frame == "" {
		return "", fmt.Errorf("no frame %d: %.60q", i, line)
	}
	return frame, nil
}
