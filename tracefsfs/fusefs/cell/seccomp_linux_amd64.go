package cell

import "golang.org/x/sys/unix"

// forbiddenHere are forbidden calls that only this architecture has.
var forbiddenHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_CREATE_MODULE}

// openingHere is what opens files on this architecture only.
var openingHere = []uint32{unix.SYS_OPEN}
