// Package lessons holds ten lessons about ftrace, and grades what a learner answers.
//
// A [Lesson] is a file of Markdown in the folder texts. It begins with a few lines of
// YAML: number, title, minutes, goal. Four kinds of fenced blocks in it are more than
// text:
//
//	run       commands of a session in the tracefs of a simulated machine, one a line
//	show      a place of package lab, and the view of it that is drawn
//	question  what happens next? Choices, a number or a word; what is said to each answer
//	exercise  "break it": a state to be reached, by commands or by a place, and its checks
//
// [Parse] reads such a file and is strict: an unknown block or key is an error that names
// the line. [Lesson.Verify] plays a lesson and compares what it claims with what the
// engine does: each question names where its answer can be seen, so that a change of the
// engine makes a test fail instead of the lesson lie.
//
// A session needs a [Machine], which the caller boots; nothing here knows the tracefs.
// Nothing here uses a clock or a random number: the same answers get the same grade.
package lessons

//go:generate go run ftracelab/cmd/ftracelab learn --documents ../../docs/lessons
