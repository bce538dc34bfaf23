// Package awk is a small awk: what scripts about traces use of the language of
// IEEE Std 1003.1, over readers and writers the caller gives it. It starts no
// command and opens no file of its own.
//
//	prog, err := awk.Parse(`/sched_switch/ { n[$1]++ } END { for (t in n) print t, n[t] }`)
//	status, err := prog.Run(ctx, awk.Config{Stdin: in, Stdout: out})
//
// There are patterns, BEGIN and END, ranges, fields, all expressions and
// statements, associative arrays, printf and the string functions, with the
// standard's rules for what is a number and what is a string. Bytes are
// characters, as in the C locale. "for (k in a)" goes in the order the keys
// came in, where the standard leaves it open, so that output is repeatable.
//
// Left out, and refused by Parse: user functions, getline, system, close, and
// output to files and pipes; rand and srand, which would want a seed.
//
// GoAWK, the awk that Go programs usually embed, goes through an array in the order
// of Go's maps, so its output is not repeatable.
package awk
