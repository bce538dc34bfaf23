// Package shell is "ftracelab shell": a POSIX shell whose world is the virtual
// tracefs.
//
//	script ─▶ mvdan.cc/sh ──┬─ redirections, globs, tests ─┐
//	                        └─ commands: cat, grep, awk …  ─┤
//	                                                        ▼
//	   namespace   /sys/kernel/tracing   the tree (also /sys/kernel/debug/tracing)
//	               /proc, /dev, /sys     a few virtual files
//	               /tmp, /var/tmp        in memory, gone with the shell
//	               everything else       the host's files, for reading
//
// No host command is ever run: the commands are the package's own, working on
// that namespace ("help" lists them). An unknown one is status 127. Nothing of
// the host gets in that could change a result: the environment is fixed, $$ and
// $PPID are constants, $RANDOM comes from a fixed seed, "sleep" and "date" are
// about simulated time (Config), and "time" is refused.
//
// The kernel's answer to a write is what a tracefs session is about, so echo
// and printf are one write(2) and tell of its error:
//
//	# echo bogus > current_tracer
//	echo: write error: Invalid argument
//	# echo $?
//	1
//
// New gives a shell, Run runs a script in it, Interactive a session.
//
// Departure: a trap on EXIT runs when a script ends or the shell, not at the end
// of a ( ) subshell; traps on signals are accepted and never fire.
//
// Departure: background jobs are goroutines. "kill $!", "kill %1" and "wait"
// know them; a killed job stops at its next command. File descriptors above 2
// and process substitution do not exist.
//
// Departure: "read x < trace_pipe" may take more from the pipe than the line.
//
// Departure: on Windows, tests and cd of absolute paths are taken relative to
// the present folder, as the interpreter's paths are the host's there.
package shell
