package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"ftracelab/internal/plain"
)

// WriteJSON writes reports as a [Document].
func WriteJSON(w io.Writer, reports ...*Report) error {
	return (&Document{Reports: reports}).WriteJSON(w)
}

// WriteJSON writes d, whose Schema it fills in. The fields have the order of [Report]
// and [Fleet], and the same contents give the same bytes. Control characters, which a
// terminal would obey, are written as \uXXXX.
func (d *Document) WriteJSON(w io.Writer) error {
	out := Document{Schema: Schema, Reports: append([]*Report{}, d.Reports...), Fleets: d.Fleets}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}

// ReadJSON reads what WriteJSON has written.
func ReadJSON(r io.Reader) ([]*Report, error) {
	var d Document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("report: the schema is %q, want %q", d.Schema, Schema)
	}
	return d.Reports, nil
}
