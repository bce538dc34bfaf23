// Package lab shows how ftrace works, one step at a time. A step is what a writer
// does to the ring buffer between two points where an interrupt could come, a
// reader's call, or a call of the stack map or of the shadow stack.
//
// A [Place] names a step. It holds the name of a scenario, the choices that were
// made on the way, and the number of the step:
//
//	nested?do=9i.12n&step=31
//
// "9i" means that an irq comes after step 9, which writes an event of its own.
// A place is all that there is to know: [Play] runs its scenario from the
// beginning, so the same place always gives the same bytes, on every machine.
// A step back is a run to the step before, which keeps the list of the steps and makes no
// words for those on the way.
//
// Who goes next is chosen as well: an interrupt that writes at any point of a writer, and
// a reader on another CPU that makes one operation at a time, at any of these points.
// [Until] goes on to the next step of which a [Condition] holds, and [Find] looks for
// choices that lead to one.
//
// Play returns a [Run]: the list of all steps, and a [Moment], which is a copy of
// the state at the step of the place. What can be seen of a moment is a [Picture]
// (see [Moment.Picture]), as text, SVG or JSON.
//
// Nothing here uses a clock, a file or a random number.
//
// Left out: an NMI does not come inside of a request for a user stack. The
// steps of the scenario tracefs are whole commands, which a machine carries out that the
// program brings (see [UseConsole]); nothing is chosen there.
package lab
