package planted

// ringbufBugs are about the ring. The view invariants shows the broken rule at the step at
// which the bug breaks it.
var ringbufBugs = []bug{
	{
		what: "a page that the writer has left keeps its old commit", file: "ringbuf/write.go",
		from: "if s.commit.Load() != commit {", to: "if s.commit.Load() != commit && p == c.tail {",
		pkg: "lab", test: "TestInvariants", says: "invariant 6 (Whatever is written can be read",
	},
	{
		what: "an event too many counts as finished", file: "ringbuf/write.go",
		from: "commit := uint64(p.entries)<<32 |", to: "commit := uint64(p.entries+1)<<32 |",
		pkg: "lab", test: "TestInvariants", says: "invariant 10 (entries = what the pages hold",
	},
	{
		what: "the link to a page that was given up says head again", file: "ringbuf/head.go",
		from: "linkTo(next, linkUpdate), linkTo(next, linkNormal)) {", to: "linkTo(next, linkUpdate), linkTo(next, linkHead)) {",
		pkg: "lab", test: "TestInvariants", says: "invariant 1 (Exactly one link",
	},
	{
		what: "events that are overwritten do not count", file: "ringbuf/head.go",
		from: "\t\tadd(&c.overrun, uint64(next.entries))\n", to: "",
		pkg: "lab", test: "TestInvariants", says: "invariant 9 (entries + overrun + read",
	},
}
