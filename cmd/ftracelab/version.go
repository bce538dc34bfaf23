package main

import (
	"runtime/debug"
	"strings"
)

// version says which ftracelab this is: the version of the module, or the commit from
// which it was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	v := info.Main.Version
	if commit := set["vcs.revision"]; commit != "" && !strings.Contains(v, commit[:min(12, len(commit))]) {
		v += " " + commit[:min(12, len(commit))]
		if set["vcs.modified"] == "true" {
			v += " with changes"
		}
	}
	return v + ", the ftrace of Linux 6.12, " + info.GoVersion
}
