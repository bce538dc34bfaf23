package golden

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"ftracelab/capture"
)

// Render gives our text of t's pages. opt names the capture's kernel. scratch is an
// empty folder for what has to be added to the capture; t.Facts then names it.
func (t *Text) Render(opt capture.Options, scratch string) (_ []byte, err error) {
	dir, err := t.prepare(opt, scratch)
	if err != nil {
		return nil, err
	}
	got, err := t.render(dir, opt)
	if err != nil {
		return nil, err
	}
	added, err := t.mappings(got, dir, opt)
	if err != nil || len(added) == 0 {
		return got, err
	}
	t.Facts = append(t.Facts, "mapped files")
	for name, text := range added {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // never through a link to the capture
		if err != nil {
			return nil, err
		}
		_, err = file.Write(text)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return t.render(dir, opt)
}

// render does what the command report does.
func (t *Text) render(dir string, opt capture.Options) (_ []byte, err error) {
	c, err := t.open(dir, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	got := part{lines: -1}
	if t.Part {
		got.lines = bytes.Count(t.Content, []byte("\n")) + 1
	}
	if err = c.WriteText(context.Background(), &got, t.CPU); errors.Is(err, errEnough) {
		err = nil
	}
	return got.Bytes(), err
}

// open opens a folder with the options of the text.
func (t *Text) open(dir string, opt capture.Options) (*capture.Trace, error) {
	opt.StackIDs = true // the kernels of the captures print ids
	c, err := capture.OpenTrace(dir, opt)
	if err != nil {
		return nil, err
	}
	for _, word := range t.Options {
		if err := c.SetOption(word); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// part keeps at least that many lines of a text; all if lines is negative.
type part struct {
	bytes.Buffer
	lines int
}

var errEnough = errors.New("the kept part is complete")

func (p *part) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if p.lines >= 0 {
		if p.lines -= bytes.Count(b, []byte("\n")); p.lines < 0 {
			return n, errEnough
		}
	}
	return n, err
}
