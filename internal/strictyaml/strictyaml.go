// Package strictyaml decodes YAML and refuses keys that there are not. Its errors speak of
// lines and keys, not of Go's types.
package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode decodes text into the struct that into points to; an empty text leaves it as it
// is. The error names the line, and for an unknown key the keys that there are.
func Decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(into)
	if err == io.EOF {
		return nil
	}
	var types *yaml.TypeError
	if !errors.As(err, &types) {
		return err
	}
	keys := map[string]string{}
	collect(reflect.TypeOf(into), keys)
	var lines []string
	for _, line := range types.Errors {
		if what, typ, ok := strings.Cut(line, " not found in type "); ok {
			line = strings.Replace(what, "field ", "no key ", 1) + "; there are " + keys[typ]
		} else if what, typ, ok := strings.Cut(line, " into "); ok && keys[typ] != "" {
			line = what + "; want the keys " + keys[typ]
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// collect notes the keys of t and of the structs that it holds, by the names of the types.
func collect(t reflect.Type, keys map[string]string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(t.Elem(), keys)
	case reflect.Struct:
		if keys[t.String()] != "" {
			return
		}
		var names []string
		for n := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(n).Tag.Get("yaml"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
		keys[t.String()] = strings.Join(names, ", ")
		for n := range t.NumField() {
			collect(t.Field(n).Type, keys)
		}
	}
}
