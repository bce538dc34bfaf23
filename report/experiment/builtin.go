package experiment

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed specs
var specs embed.FS

// Builtin returns the spec of that name that comes with the program.
func Builtin(name string) (Spec, error) {
	text, err := specs.ReadFile("specs/" + name + ".yaml")
	if err != nil || strings.ContainsAny(name, "/.") {
		return Spec{}, fmt.Errorf("no experiment %q; there are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	s, err := Parse(text)
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// BuiltinNames lists the specs that come with the program.
func BuiltinNames() (names []string) {
	files, err := specs.ReadDir("specs")
	if err != nil {
		panic("experiment: invariant: " + err.Error())
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
	}
	return names
}
