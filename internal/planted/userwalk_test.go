package planted

// userWalkBugs are about the walks of user stacks, which the stacks of a real program judge.
var userWalkBugs = []bug{
	{
		"by .eh_frame a function that signs its return address has no rows", "unwind/ehframe/sign.go",
		"\t\t\tprogram[at] = frame.DW_CFA_nop\n", "",
		"unwind/user", "TestARM64Agree",
	},
	{
		"the first instruction of a function belongs to the one before", "unwind/sframe/sframe.go",
		"s.Funcs[mid].Start <= pc", "s.Funcs[mid].Start < pc",
		"workload/program", "TestAgreeSample",
	},
	{
		"a row of SFrame begins an instruction late", "unwind/sframe/sframe.go",
		"f.Rows[i].Start > off", "f.Rows[i].Start >= off && off > 0",
		"workload/program", "TestAgreeSample",
	},
	{
		"version 2 and 3 count a function's start from the section", "unwind/sframe/encode.go",
		"\t\t\tbase += uint64(headerSize + i*fdeSize[version])\n", "",
		"workload/program", "TestAgreeSample",
	},
	{
		"the caller's frame pointer is not read", "unwind/user/walk.go",
		"\tif !r.FP.Kept {", "\tif false {",
		"unwind/user", "TestArchitectures",
	},
	{
		"a walk at a function's entry takes the frame of its caller", "unwind/user/walk.go",
		"return s.apply(&s.entry)", "return s.apply(&s.frame)",
		"workload/program", "TestAgreeSample",
	},
	{
		"by .eh_frame the return address is looked up, not the call", "unwind/user/ehframe.go",
		"\t\tpc--\n", "\t\t_ = pc\n",
		"unwind/user", "TestEhFrame",
	},
	{
		"by .eh_frame a caller has the stack pointer of its callee", "unwind/ehframe/caller.go",
		"\tf.Regs.Set(m.sp, f.CFA)\n", "",
		"workload/program", "TestAgreeSample",
	},
	{
		"by .eh_frame the frame pointer does not outlive a call", "unwind/ehframe/caller.go",
		"1<<3 | 1<<6 | 0xf<<12", "1<<3 | 0xf<<12",
		"workload/program", "TestAgreeSample",
	},
	{
		"two programs share their tables", "unwind/user/walk.go",
		"s.objects = space.Objects()", "_ = space",
		"unwind/user", "TestAddressSpace",
	},
}
