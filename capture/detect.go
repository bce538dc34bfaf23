package capture

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// The formats of captures.
const (
	FormatFtrace   = "ftrace"    // text of trace or trace_pipe
	FormatPerf     = "perf"      // text of perf script
	FormatFolded   = "folded"    // a;b;c 12
	FormatFolder   = "folder"    // cpuN.raw pages
	FormatTraceDat = "trace.dat" // of trace-cmd
)

// textFormat is one form of text.
type textFormat struct {
	name string
	// looks reports whether a line has this form. The last line of the text that was
	// looked at may not be whole.
	looks func(line []byte, whole bool) bool
	open  func(*base, *stream, location) (importer, error)
}

// textFormats are the forms of text. A line is given to them in this order, and the
// first that takes it counts it.
func textFormats() []textFormat {
	return []textFormat{
		{FormatFtrace, looksFtrace, newFtraceText},
		{FormatPerf, looksPerf, newPerfText},
		{FormatFolded, looksFolded, newFoldedText},
	}
}

// Formats are the values of Options.Format.
func Formats() []string {
	var names []string
	for _, f := range textFormats() {
		names = append(names, f.name)
	}
	return append(names, FormatFolder, FormatTraceDat)
}

// detectLines is how many lines detection looks at; headers are short.
const detectLines = 200

// foreign are formats that are recognised to say what to do instead.
var foreign = []struct{ magic, advice string }{
	{"\x17\x08\x44tracing", "a trace.dat file: it can only be read where it can be sought in, unpacked and not through a pipe"},
	{"FTLS", "a summary, which only estimate and merge read, from a file or the standard input"},
	{"PERFILE2", "a perf.data file: give the output of perf script"},
	{"2ELIFREP", "a perf.data file: give the output of perf script"},
}

// detect finds the format of a text from its first lines. It takes a format only
// if some line has its form and no line has the form of another.
func detect(in *stream, l location) (string, error) {
	if rawName.MatchString(path.Base(l.name)) {
		return "", fileError(l.shown, "pages of one CPU: give the folder they are in", nil)
	}
	head, err := in.Peek(streamBuffer)
	if err != nil && err != io.EOF && len(head) == 0 {
		return "", readFault(l.shown, err)
	}
	if len(head) == 0 {
		return "", fileError(l.shown, "is empty", nil)
	}
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return "", fileError(l.shown, f.advice, nil)
		}
	}
	if i := bytes.IndexByte(head, 0); i >= 0 {
		return "", &Error{File: l.shown, Offset: int64(i), What: "a zero byte: not text, and no compression or container known here"}
	}
	return judge(head, l.shown)
}

// judge counts the lines of each form.
func judge(head []byte, shown string) (string, error) {
	if graphHeader.Match(head) {
		return "", fileError(shown, "text of the function_graph tracer, which tells durations but neither the times of the records "+
			"nor their stacks: give the folder of raw pages", nil)
	}
	formats := textFormats()
	count := make([]int, len(formats))
	n := 0
	for line := range bytes.Lines(head) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, "\r\n")
		if n++; n > detectLines {
			break
		}
		if len(line) == 0 || line[0] == '\t' {
			continue
		}
		for i, f := range formats {
			if f.looks(line, whole) {
				count[i]++
				break
			}
		}
	}
	return decide(shown, formats, count, min(n, detectLines))
}

// isRemark reports whether line is a comment, or a frame of a stack in ftrace's text.
func isRemark(line []byte) bool { return line[0] == '#' || bytes.HasPrefix(line, []byte(" => ")) }

// graphHeader is the first line of a function_graph trace, or lines of its body.
var graphHeader = regexp.MustCompile(`\A# tracer: function_graph|(?m)\A(?: *\d+\)[^|\n]*\|  .*\n){3}`)

// decide takes the one form that lines have. More than one is an error, and so is none.
func decide(shown string, formats []textFormat, count []int, n int) (string, error) {
	found, tried := "", []string{}
	several := false
	for i, f := range formats {
		tried = append(tried, fmt.Sprintf("%s fits %d", f.name, count[i]))
		if count[i] > 0 {
			several = several || found != ""
			found = f.name
		}
	}
	switch {
	case found == "":
		return "", fileError(shown, fmt.Sprintf("no known form of capture: of its first %d lines %s "+
			"(latency-format, raw, hex and bin texts are not read)", n, strings.Join(tried, ", ")), nil)
	case several:
		return "", fileError(shown, fmt.Sprintf("the form is not clear: of its first %d lines %s; name the format",
			n, strings.Join(tried, ", ")), nil)
	}
	return found, nil
}

// readFault makes an Error of a read error that is none yet.
func readFault(shown string, err error) error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return fileError(shown, "cannot read", cause(err))
}
