package report

import (
	"bytes"
	"encoding/json"
	"io"

	"ftracelab/internal/plain"
)

// WriteJSON writes one report as an object, and several as an array of objects. The
// fields have the order of [Report], and the same reports give the same bytes. Control
// characters, which a terminal would obey, are written as \uXXXX.
func WriteJSON(w io.Writer, reports ...*Report) error {
	var v any = reports
	if len(reports) == 1 {
		v = reports[0]
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}
