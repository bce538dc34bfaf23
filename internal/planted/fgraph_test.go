package planted

// fgraphBugs are about shadow stacks and fprobes on them.
var fgraphBugs = []bug{
	{
		"a user is told of returns that another one wanted", "fgraph/enter.go",
		"wanted |= 1 << i", "wanted |= g.used",
		"fgraph", "TestFprobes",
	},
	{
		"a user is asked of functions that its filter leaves out", "fgraph/enter.go",
		"o != nil && o.wants(call.Func) && g.ask", "o != nil && g.ask",
		"fgraph", "TestFprobes",
	},
	{
		"an interrupt in the middle of push writes over the return address", "fgraph/enter.go",
		"\ts.words[at+frameRet] = ret\n\ts.words[at+frameFunc] = fn\n", "\ts.words[at+frameFunc] = fn\n",
		"fgraph", "TestFprobes",
	},
	{
		"the return address is read when the frame is gone", "fgraph/enter.go",
		"\ts.depth--\n\treturn to\n", "\ts.depth--\n\t_ = to\n\treturn s.words[at+frameRet]\n",
		"fgraph", "TestFprobes",
	},
	{
		"what a user has reserved stays when it does not want the return", "fgraph/enter.go",
		"\ts.top = top\n\treturn false\n", "\t_ = top\n\treturn false\n",
		"fgraph", "TestFprobes",
	},
	{
		"the stack of a task that has ended is kept", "fgraph/ops.go",
		"\t\t\tg.stacks = g.stacks[:last]\n", "",
		"fgraph", "TestFprobes",
	},
	{
		"calls for which there is no room do not count as missed", "fgraph/fprobe/fprobe.go",
		"\t\t\t\t\tn.probe.Missed++\n", "",
		"fgraph", "TestFprobes",
	},
	{
		"calls in a kprobe's handler do not count as missed", "fgraph/fprobe/fprobe.go",
		"\t\tp.Missed++\n\t\treturn false\n", "\t\treturn false\n",
		"fgraph", "TestFprobes",
	},
	{
		"a probe is told after it was removed", "fgraph/fprobe/fprobe.go",
		"\tt.drop(p)\n\tp.nodes = nil\n", "\tp.nodes = nil\n",
		"fgraph", "TestFprobes",
	},
	{
		"one probe's data lies over that of the next", "fgraph/fprobe/fprobe.go",
		"\t\t\tused = end\n", "\t\t\tused += headerSize\n",
		"fgraph", "TestFprobes",
	},
	{
		"a disabled probe is told of returns", "fgraph/fprobe/fprobe.go",
		"if p != nil && !p.Disabled {", "if p != nil {",
		"fgraph", "TestFprobes",
	},
	{
		"a call for which there is no room does not count as an overrun", "fgraph/enter.go",
		"\t\ts.overrun++\n", "",
		"fgraph", "TestFprobes",
	},
	{
		"a user is told after it was removed", "fgraph/ops.go",
		"\tg.array[o.index] = nil\n", "",
		"fgraph", "TestFprobes",
	},
	{
		"an interrupt in the middle of push finds no word that leads back", "fgraph/enter.go",
		"\ts.words[bitmap] = reservedWord(f)\n\ts.words[at+frameRet] = ret\n\tg.at(\"written\")\n", "\tg.at(\"written\")\n",
		"fgraph", "TestEveryOrder",
	},
}
