// Package sed is a stream editor: the sed of IEEE Std 1003.1 with the GNU
// additions in daily use, over readers and writers the caller gives it.
//
//	prog, err := sed.Parse([]string{`s/^.\([^ ]*\).*/-\1/`}, sed.Options{})
//	status, err := prog.Run(ctx, sed.Config{Inputs: []io.Reader{in}, Stdout: out})
//
// Commands: { } = a b c d D g G h H i l n N p P q Q s t T x y : #. Addresses: a
// line, $, /re/ (with I), first~step, ranges and addr,+n; all with !. Flags of
// s: g p I and a number.
//
// Left out, and refused by Parse: r, w, e and in-place editing, for this sed
// opens no file of its own.
package sed
