//go:build !js

package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	stepping "ftracelab/lab"
	"ftracelab/lab/lessons"
	"ftracelab/report/experiment"
	"ftracelab/report/model/scenarios"
	"ftracelab/tracer/record"
)

// completions are the values that a shell offers for flags, by their names. A flag has
// the same values in every command.
var completions = map[string]cobra.CompletionFunc{
	"stackmap":       fixed("documented", "v2", "v4", "none"),
	"format":         fixed(capture.Formats()...),
	"frames":         fixed(capture.FrameKinds()...),
	"scenario":       fixed(scenarioNames()...),
	"designs":        completeDesigns,
	"metrics":        completeList(metricNames()),
	"buffer-size-kb": fixed("1408", "4096", "8192", "16384"),
	"target-seconds": fixed("1", "10", "60", "600"),
	"max-drop-rate":  fixed("0", "0.1", "1", "5"),
	"budget-kb":      fixed("16384", "65536", "262144"),
	"instances":      fixed("2", "4", "8"),
	"unique-factor":  fixed("2", "5", "10"),
	"rate":           fixed("10000", "100000", "1000000"),
	"subbuf-size":    fixed("4096", "8192", "16384", "32768", "65536"),
	"html":           endingIn("html"),
	"summary":        endingIn("ftls"),
	"model":          completeModels,
	"print":          fixed(scenarios.Names()...),
	"about":          endingIn("yaml"),
	"kernel":         folders,
	"bits":           fixed("10", "11", "12", "13", "14", "15", "16", "17", "18"),
	"compression":    fixed("zstd", "zlib", "none"),
	"trace_options":  completeList([]string{"stackmap", "stacktrace", "userstacktrace"}),
	"view":           fixed("step", "ring", "page", "bits", "counters", "map", "shadow"),
	"until":          fixed(stepping.KindNames()...),
	"file-version":   fixed("6", "7"),
	"answers":        endingIn("yaml"),
}

// addCompletions gives the flags of a command and of those below it their values.
func addCompletions(cmd *cobra.Command) {
	for name, values := range completions {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		if cmd.Name() == "experiment" && name == "format" {
			values = fixed("table", "csv", "json")
		}
		if (cmd.Name() == "step" || cmd.Name() == "page") && name == "format" {
			values = fixed("text", "svg", "json")
		}
		if err := cmd.RegisterFlagCompletionFunc(name, values); err != nil {
			panic("ftracelab: invariant: " + err.Error())
		}
	}
	switch cmd.Name() {
	case "run":
		cmd.ValidArgsFunction = first(scenarioNames)
	case "merge":
		cmd.ValidArgsFunction = endingIn("ftls")
		if err := cmd.RegisterFlagCompletionFunc("output", endingIn("ftls")); err != nil {
			panic("ftracelab: invariant: " + err.Error())
		}
	case "learn":
		cmd.ValidArgsFunction = first(lessonNumbers)
	case "step":
		cmd.ValidArgsFunction = first(stepping.Names)
	case "experiment":
		cmd.ValidArgsFunction = first(experiment.BuiltinNames)
	}
	for _, sub := range cmd.Commands() {
		addCompletions(sub)
	}
}

func fixed(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

func endingIn(ending string) cobra.CompletionFunc {
	return cobra.FixedCompletions([]string{ending}, cobra.ShellCompDirectiveFilterFileExt)
}

// completeModels offers the names of models, and once no name can be meant, files.
func completeModels(cmd *cobra.Command, args []string, typed string) (list []string, _ cobra.ShellCompDirective) {
	for _, name := range scenarios.Names() {
		if strings.HasPrefix(name, typed) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return endingIn("yaml")(cmd, args, typed)
	}
	return list, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// first offers names for the first argument, and files too. The names are made only if
// somebody asks: those of the lessons are in texts that have to be read.
func first(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return names(), cobra.ShellCompDirectiveDefault
	}
}

// completeList offers the words of a list with commas in it.
func completeList(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (list []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, w := range words {
			list = append(list, before+w)
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// completeDesigns offers the names of designs, and behind a colon the fields of a map.
func completeDesigns(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	last := typed[strings.LastIndexByte(typed, ',')+1:]
	if _, _, field := strings.Cut(last, ":"); field || strings.Contains(typed, ":") && !strings.Contains(last, "=") {
		var list []string
		before := typed[:strings.LastIndexAny(typed, ",:")+1]
		design := before[:strings.LastIndexByte(before, ':')]
		for _, key := range record.DesignKeys(design[strings.LastIndexByte(design, ',')+1:]) {
			list = append(list, before+key+"=")
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return completeList(record.DesignNames())(cmd, args, typed)
}

func lessonNumbers() (numbers []string) {
	for _, l := range lessons.All() {
		numbers = append(numbers, strconv.Itoa(l.Number)+"\t"+l.Title)
	}
	return numbers
}

func metricNames() (names []string) {
	for _, m := range experiment.Metrics() {
		names = append(names, m.Name)
	}
	return names
}
