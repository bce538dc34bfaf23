// Package lineedit edits one line of text on a terminal, with the keys of Emacs. It does
// no input or output of its own: what was typed goes in as bytes, and what the terminal
// has to be sent comes out as bytes.
//
//	typed ─▶ decode ─▶ Key ─▶ Editor ─▶ text, cursor ─▶ layOut ─▶ picture ─▶ Draw ─▶ sent
//	                                                                 ▲
//	                                             the picture that is on the screen
//
// What a reader calls a character may be several code points (a letter and its accents, a
// family of emoji), and takes one column or two. The editor moves, deletes and wraps by
// such clusters, never by bytes or code points. Each cluster of the text becomes cells,
// cells fill rows, and Draw sends only what is different from the rows before.
//
// Terminals do not agree on how wide every cluster is. Behind one in doubt the next column
// is named, so that a wrong guess moves nothing but the cluster itself.
//
// A caller reads bytes, gives them to Feed, writes what Draw returns, and does so until the
// line is done:
//
//	e.Begin("# ")
//	for {
//		write(e.Draw())
//		n, state := e.Feed(bytes)
//		…
//	}
package lineedit
