package planted

import "testing"

// ringbufBugs are about the ring. The view invariants shows the broken rule at the step at
// which the bug breaks it.
var ringbufBugs = []struct {
	bug
	says string
}{
	{
		bug{"the commit page stays behind", "ringbuf/write.go", "c.commitPage, c.commitSub = p, next", "c.commitSub = next", "lab", "TestInvariants"},
		"invariant 10 (entries = what the pages hold",
	},
	{
		bug{"the second event of a page is not made readable", "ringbuf/write.go", "\t\t\tc.moveCommit()\n", "\t\t\tif c.tail.entries != 2 {\n\t\t\t\tc.moveCommit()\n\t\t\t}\n", "lab", "TestInvariants"},
		"invariant 6 (Whatever is written can be read",
	},
	{
		bug{"the time of the last event is not kept", "ringbuf/write.go", "\t\tc.writeStamp = ts\n", "", "lab", "TestInvariants"},
		"invariant 11 (The two stamps are equal",
	},
	{
		bug{"an event too many counts as finished", "ringbuf/write.go", "commit := uint64(p.entries)<<32 |", "commit := uint64(p.entries+1)<<32 |", "lab", "TestInvariants"},
		"invariant 9 (entries + overrun + read",
	},
	{
		bug{"the link to a page that was given up says head again", "ringbuf/head.go", "linkTo(next, linkUpdate), linkTo(next, linkNormal)) {", "linkTo(next, linkUpdate), linkTo(next, linkHead)) {", "lab", "TestInvariants"},
		"invariant 1 (Exactly one link",
	},
	{
		bug{"events that are overwritten do not count", "ringbuf/head.go", "\t\tadd(&c.overrun, uint64(next.entries))\n", "", "lab", "TestInvariants"},
		"invariant 10 (entries = what the pages hold",
	},
}

// TestPlantedInRing plants bugs in the ring, each of which breaks another rule.
func TestPlantedInRing(t *testing.T) {
	for _, b := range ringbufBugs {
		t.Run(b.what, func(t *testing.T) { b.plant(t, b.says) })
	}
}
