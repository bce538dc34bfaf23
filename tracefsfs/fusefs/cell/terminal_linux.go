package cell

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// foreground is the terminal, if there is one and the process group pgid is the one that
// uses it; nil if not. It is called with unix.Getpgid's results.
func foreground(pgid int, err error) *os.File {
	if err != nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if now, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP); err != nil || now != pgid {
		tty.Close()
		return nil
	}
	return tty
}

// keepTerminal remembers whether this process uses its terminal; what it returns takes
// the terminal back from the program of a cell, which has it meanwhile.
func keepTerminal() (takeBack func()) {
	tty := foreground(unix.Getpgrp(), nil)
	if tty == nil {
		return func() {}
	}
	return func() {
		signal.Ignore(unix.SIGTTOU) // that is what who is not in the foreground gets
		_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp())
		signal.Reset(unix.SIGTTOU)
		tty.Close()
	}
}
