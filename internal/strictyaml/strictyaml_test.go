package strictyaml

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	type inner struct {
		A int `yaml:"a"`
		B int `yaml:"b,omitempty"`
	}
	type outer struct {
		Rows []inner `yaml:"rows"`
		skip int
	}
	var o outer
	if err := Decode([]byte("rows: [{a: 1}, {b: 2}]"), &o); err != nil || len(o.Rows) != 2 || o.Rows[1].B != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	if err := Decode(nil, &o); err != nil || o.skip != 0 {
		t.Error("an empty text:", err)
	}
	for text, want := range map[string]string{
		"rows:\n- a: 1\n- c: 1": "line 3: no key c; there are a, b",
		"row: []":               "line 1: no key row; there are rows",
		"rows:\n- a: x":         "line 2: cannot unmarshal",
		"{":                     "yaml: ",
	} {
		if err := Decode([]byte(text), &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
