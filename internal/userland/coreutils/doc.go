// Package coreutils has the small programs of the lab's userland: those of GNU
// coreutils, diffutils' diff, and the dumps hexdump and xxd. Each is a function of a
// tool.Call and returns its exit status. An option that is not there is refused by
// name; none is accepted and ignored that would change what is printed.
package coreutils
