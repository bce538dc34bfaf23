package program

import (
	"fmt"

	"ftracelab/unwind/ehframe"
	"ftracelab/unwind/sframe"
	"ftracelab/unwind/user"
)

// Where a program's library and its stack lie. Address space layout randomisation is off.
const (
	libBase   = 0x7ffff7dd0000
	libSize   = 0x1d0000
	libPath   = "/lib/x86_64-linux-gnu/libc.so.6"
	stackTop  = 0x7fffffffe000
	stackSize = 128 << 10
)

// layout says where things lie in the memory of a program, and how many bytes a word has.
type layout struct {
	word     uint64
	base     uint64 // a program that can lie anywhere
	lib      uint64
	libPath  string
	stackTop uint64
}

// layouts are those of x86-64 and of 32-bit programs on it.
var layouts = map[bool]layout{
	false: {8, base, libBase, libPath, stackTop},
	true:  {4, 0x56555000, 0xf7c00000, "/lib/i386-linux-gnu/libc.so.6", 0xffffe000},
}

// Places in the stub of the library: the code that calls main, in a frame of 16 bytes, and
// functions that have no frame.
const (
	startCode = 0x27000
	inStart   = 0x2724a // the place to which main returns
	leafCode  = 0x28000
)

// stubEhFrame is the stub's .eh_frame, at stubEhAddr.
var stubEhFrame = []byte{
	// CIE: CFA = rsp+8, the return address at CFA-8
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
	// FDE of startCode, 0x1000 bytes: CFA = rsp+16
	0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0xe0, 0x5f, 2, 0, 0, 0x10, 0, 0, 0, 0x0e, 16, 0, 0, 0, 0, 0,
	// FDE of leafCode, 0x100000 bytes
	0x10, 0, 0, 0, 0x34, 0, 0, 0, 0xc8, 0x6f, 2, 0, 0, 0, 0x10, 0, 0, 0, 0, 0,
	0, 0, 0, 0,
}

const stubEhAddr = 0x1000

// stub makes the library's tables. A real C library has about the same to say of its
// functions that make system calls: they are short and have no frame.
//
// Departure: Debian's C library has no .sframe, so that there a walk by SFrame ends in it
// or goes on by frame pointers.
func stub() (user.Object, error) {
	eh, err := ehframe.Parse(stubEhFrame, stubEhAddr, ehframe.AMD64)
	if err != nil {
		return user.Object{}, fmt.Errorf("the library's stub: %w", err)
	}
	return user.Object{
		Start: libBase, End: libBase + libSize, Bias: libBase, EhFrames: eh,
		Frames: &sframe.Section{Version: 2, Flags: sframe.Sorted, Arch: sframe.AMD64, FixedRA: -8, Funcs: []sframe.Func{
			{Start: startCode, Size: leafCode - startCode, Rows: []sframe.Row{{SP: true, Words: []int32{16}}}},
			{Start: leafCode, Size: 0x100000, Rows: []sframe.Row{{SP: true, Words: []int32{8}}}},
		}},
	}, nil
}
