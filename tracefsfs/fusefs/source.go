package fusefs

// SpoofedSource is a mount source with which libtracefs and perf take a FUSE mount
// on dir for tracefs. They read /proc/mounts as words between blanks and look for
// the third to be "tracefs"; the kernel escapes blanks in a source, but not a
// carriage return, which C takes for one. So the source itself is three words.
func SpoofedSource(dir string) string { return "x\r" + dir + "\rtracefs" }
