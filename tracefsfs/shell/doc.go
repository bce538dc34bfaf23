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
// A script keeps within its memory, Config.Memory, or is ended with status 2. What a
// command's words would come to is counted before they are expanded, so that this
// is the same each time; so are processes:
//
//	# s=aaaaaaaa; while :; do s=$s$s; done
//	sh: Cannot allocate memory (the limit is 512 MB)
//	# while :; do sleep 1000 & done
//	sh: fork: Resource temporarily unavailable
//
// The words of one command, with what its substitutions read, may come to a 16th of the
// memory, all variables it sees to a quarter. 1024 processes may run beside the
// shell. A command that keeps what it reads (sort, tac, tail, diff, xargs, grep -B) may
// keep an eighth and then says that memory is exhausted; sed's spaces, awk's arrays
// and /tmp have bounds of their own. For what is counted nowhere, such as functions
// that eval defines, the heap of the process is looked at every 10 ms, with the
// machine's own memory, its ring buffers, in it. A session goes on with the next
// command, without its variables and functions if these held more than half.
//
// Departure: a trap on EXIT runs when a script ends or the shell, not at the end
// of a ( ) subshell; traps on signals are accepted and never fire.
//
// Background jobs share the simulated time with the foreground, which alone moves it
// on (see timeline): "sleep 1 & sleep 1 & wait" takes one second, and at the prompt
// time stands still for all. A job that never waits gets 64 commands a millisecond.
//
// Departure: "kill $!", "kill %1" and "wait" know background jobs; a killed job stops
// at its next command.
//
// Descriptors from 3 on keep their place between commands, and read takes one line of
// them and no more: "exec 3< trace_pipe; read -r line <&3". {fd}< gives one a number.
//
// Process substitution is a pipe in simulated time (see pipes.go): a word of a command, or
// the file of < or >. The list of <( ) is a background job, and ends when nobody reads it.
// A command with >( ) ends when the list has. What cannot be had is refused only where it
// stands, and what comes after it runs: time, coproc, and <( ) in other places.
//
// In a session, background jobs go on at the prompt, as far as time does. Ctrl-C ends
// what was typed in its line, and not the jobs of earlier ones. "jobs" lists them.
//
// Departure: "read x < trace_pipe" may take more from the pipe than the line; use a
// descriptor.
//
// Departure: on Windows, tests and cd of absolute paths are taken relative to
// the present folder, as the interpreter's paths are the host's there.
package shell
