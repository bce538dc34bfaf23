package fusefs

// SpoofedSource is a mount source with which libtracefs and perf take a FUSE mount
// on dir for a file system of the kernel: "tracefs", or "debugfs". They read
// /proc/mounts as words between blanks and look at the third; the kernel escapes the
// usual blanks in a source, but not a vertical tab, which C and Python take for one. So
// the source itself is three words. Unlike a carriage return, a vertical tab does not end
// a line for a program in Python.
func SpoofedSource(dir, fstype string) string { return "x\v" + dir + "\v" + fstype }
