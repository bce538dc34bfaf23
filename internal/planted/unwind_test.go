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
		"a cookie of before an exec gets the new program's stack", "tracer/attach.go",
		"\t\tft.unwind.Exec(d.unwind)\n", "\t\t_ = d\n",
		"tracer", "TestDeferredStacksOfExecs",
	},
	{
		"an exec keeps the old program's memory", "machine/sched.go",
		"\tt.Memory, t.Maps, t.Compat = p.Memory, p.Maps, p.Compat\n", "",
		"machine", "TestUserSpaceOfForkAndExec",
	},
	{
		"a child shares its parent's stack", "machine/sched.go",
		"t.Memory = memory.Fork()", "t.Memory = memory",
		"machine", "TestUserSpaceOfForkAndExec",
	},
	{
		"a child has no registers", "machine/sched.go",
		"\tt.User, t.Compat = parent.User, parent.Compat\n", "",
		"machine", "TestUserSpaceOfForkAndExec",
	},
	{
		"a walk that comes later does not wait for pages", "unwind/deferred.go",
		"\t\tmemory.PageIn()\n", "\t\t_ = memory\n",
		"unwind", "TestSwappedOut",
	},
	{
		"a task that exits gets a cookie", "unwind/deferred.go",
		"t.Machine.Kernel || t.Exiting || t.leaving", "t.Machine.Kernel || t.leaving",
		"unwind", "TestDeferredModel",
	},
	{
		"a work is called twice in a stay", "unwind/deferred.go",
		"\tasked &= t.mask &^ t.completed\n", "\tasked &= t.mask\n",
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
		"\tt.id, t.completed = 0, 0\n", "\tt.completed = 0\n",
		"unwind", "TestDeferredModel",
	},
	{
		"an NMI gets the cookie of a stay that is being reset", "unwind/deferred.go",
		"t.Exiting || t.leaving ||", "t.Exiting ||",
		"unwind", "TestEveryOrder",
	},
	{
		"a work is called for a cancelled one whose bit it has", "unwind/deferred.go",
		"\tasked &= t.mask &^ t.completed\n", "\tasked &^= t.completed\n",
		"unwind", "TestEveryOrder",
	},
	{
		"a return does not see that an NMI has asked", "unwind/deferred.go",
		"\t\tif t.mask&pendingBit == 0 {\n", "\t\tif true {\n",
		"unwind", "TestEveryOrder",
	},
	{
		"a cancelled work leaves its bit behind", "unwind/deferred.go",
		"\t\tt.mask &^= bit\n", "",
		"unwind", "TestEveryOrder",
	},
	{
		"a CPU of the layout of January counts twice", "unwind/deferred.go",
		"\tif t.id == 0 {\n\t\tt.id = cookie.January", "\tif true {\n\t\tt.id = cookie.January",
		"unwind", "TestEveryOrder",
	},
	{
		"a 32-bit machine has room for 62 tracers", "unwind/deferred.go",
		"\tif cfg.Word32 {\n", "\tif false {\n",
		"unwind", "TestMaxWorks",
	},
	{
		"a 32-bit program is walked with words of 8 bytes", "unwind/deferred.go",
		"\tif t.Machine.Compat {\n", "\tif false {\n",
		"unwind", "TestCompat",
	},
	{
		"an NMI asks where it must not use cmpxchg", "unwind/deferred.go",
		"\tif d.cfg.NoNMI {\n", "\tif false {\n",
		"unwind", "TestNoNMI",
	},
}
