package planted

// unwindBugs are about user stacks that are walked later.
var unwindBugs = []bug{
	{
		"a work that gets the bit of a cancelled one counts as served", "unwind/deferred.go",
		"\t\tt.completed &^= bit\n", "",
		"unwind", "TestCancelledBit",
	},
	{
		"a callback can cancel", "unwind/deferred.go",
		"\tif d.reading {", "\tif false {",
		"unwind", "TestCancelInside",
	},
	{
		"a task that exits does not deliver its stack", "tracer/attach.go",
		"\t\tft.unwind.Exit(d.unwind)\n", "\t\t_ = d\n",
		"tracer", "TestDeferredStacksOfExitingTasks",
	},
	{
		"a task that exits gets a cookie", "unwind/deferred.go",
		"t.Machine.Kernel || t.Exiting || w.owns", "t.Machine.Kernel || w.owns",
		"unwind", "TestDeferredModel",
	},
	{
		"a work is called twice in a stay", "unwind/deferred.go",
		"\tasked &^= t.completed\n", "",
		"unwind", "TestLateRequest",
	},
	{
		"an NMI that has asked in the middle of a request is not noticed", "unwind/deferred.go",
		"\told := t.mask\n", "\told := uint64(0)\n",
		"unwind", "TestNMI",
	},
	{
		"a trace that is emptied is not told its files again", "tracer/snapshot.go",
		"\tif cpu < 0 {\n\t\ttr.ft.inodes.reset()\n\t}\n", "",
		"tracer", "TestInodeCache",
	},
	{
		"a file is told for each stack", "tracer/inodecache.go",
		"\t\tn.told[k] = struct{}{}\n", "",
		"tracer", "TestInodeCache",
	},
	{
		"a stack has addresses instead of offsets in files", "tracer/deferred.go",
		"ip, inode, dev = m.At(ip), m.Inode, m.Dev", "inode, dev = m.Inode, m.Dev",
		"tracer", "TestInodeCache",
	},
	{
		"a cookie is used again in the next stay", "unwind/deferred.go",
		"\tt.mask, t.completed, t.id = 0, 0, 0\n\tt.cache = t.cache[:0]\n", "\tt.mask, t.completed = 0, 0\n\tt.cache = t.cache[:0]\n",
		"unwind", "TestDeferredModel",
	},
}
