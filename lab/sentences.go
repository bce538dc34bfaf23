package lab

import "ftracelab/ringbuf"

// What the steps of the ring buffer mean.

var points = map[ringbuf.Point]sentence{
	ringbuf.PointA: {
		"The writer has read how far the page is written, the two stamps, and the clock. Nothing is claimed yet: an interrupt that comes now simply writes first.",
		"__rb_reserve_next",
	},
	ringbuf.PointB: {
		"before_stamp now says that somebody is about to write. Until write_stamp says the same, an interrupt knows that the time of the last event is uncertain, and stores its whole time.",
		"__rb_reserve_next",
	},
	ringbuf.PointC: {
		"The write index has been moved in one atomic addition, so the room belongs to this writer, whoever comes next. If the index ends past the page, there is no room, and the page has to be left.",
		"__rb_reserve_next",
	},
	ringbuf.PointD: {
		"write_stamp is equal to before_stamp again: the time of the last event is known, and the next event can store the difference to it.",
		"__rb_reserve_next",
	},
	ringbuf.PointE: {
		"Somebody wrote between A and C. The writer has taken a new time and announced it in before_stamp.",
		"__rb_reserve_next",
	},
	ringbuf.PointF: {
		"The writer looks whether anybody came after it. If not, its difference to write_stamp is right; otherwise it stores a difference of 0.",
		"__rb_reserve_next",
	},
	ringbuf.PointLink: {
		"The event does not fit on the rest of the page. The writer has read the link to the next page; its two lowest bits say whether that page is the head, the oldest one.",
		"rb_move_tail",
	},
	ringbuf.PointUpdate: {
		"The next page is the oldest, and will be overwritten. The link to it says update now: a reader that wants this page fails with its compare-and-swap, and looks again.",
		"rb_handle_head_page",
	},
	ringbuf.PointHead: {
		"The page behind the overwritten one is the head now, so the oldest events that can be read begin there.",
		"rb_handle_head_page",
	},
	ringbuf.PointTail: {
		"The writer is about to move the tail to the next page. The rest of the old page becomes padding.",
		"rb_tail_page_update",
	},
	ringbuf.PointCommits: {
		"The event ends. The writer has read how many writers were nested in it, so that it notices if another one comes meanwhile.",
		"rb_end_commit",
	},
	ringbuf.PointCommit: {
		"If this writer is the outermost one, the commit has moved up to the tail, and everything below it can be read. If it is an interrupt, the commit stays where it is.",
		"rb_set_commit_to_write",
	},
	ringbuf.PointLowered: {
		"This writer no longer counts as one. It looks once more whether an interrupt has written since the commit moved; nobody else would move the commit for that one.",
		"rb_end_commit",
	},
}

var (
	sayBegin = sentence{
		"The writer asks for room at the tail. From here on, an interrupt may come at each of the next steps.",
		"ring_buffer_lock_reserve",
	}
	sayReserved = sentence{
		"The header stands in the page and the room is taken, but the commit is still in front of it. A reader sees nothing of it.",
		"ring_buffer_lock_reserve",
	}
	sayFilled = sentence{
		"The data is written in place, without a copy. It cannot be read yet.",
		"",
	}
	sayEnd = sentence{
		"The event can be read: commit and tail are equal, as no other writer is active.",
		"ring_buffer_unlock_commit",
	}
	sayNestedEnd = sentence{
		"The event of the interrupt is finished, but it stands behind one that is not. So it becomes readable only when the outermost writer ends.",
		"ring_buffer_unlock_commit",
	}
	sayDiscarded = sentence{
		"Nobody is to read this event. If it is still the last one, its room is given back; otherwise it becomes padding, which readers skip.",
		"ring_buffer_discard_commit",
	}
	sayFull = sentence{
		"With overwriting off, the writer must not take the oldest page from those who will read it. The new event is lost instead, and counted as dropped.",
		"rb_move_tail",
	}
	sayOverrun = sentence{
		"Interrupts have filled the whole ring while an event is not finished. The page of that event cannot be overwritten, so the new event is lost, and counted as commit overrun.",
		"rb_move_tail",
	}
	sayRefused = sentence{"The ring buffer has refused the event.", "ring_buffer_lock_reserve"}
	sayEmpty   = sentence{
		"There is nothing between what has been read and the commit.",
		"rb_get_reader_page",
	}
	sayConsumed = sentence{
		"The event comes from the reader page, which is outside of the ring. No writer can overwrite it there.",
		"ring_buffer_consume",
	}
	saySwapped = sentence{
		"The reader page had been read to its end. The reader put it in the place of the head with one compare-and-swap, and has the oldest page for itself: so the writer never overwrites what is being read.",
		"rb_get_reader_page",
	}
	sayPartly = sentence{
		"The events were copied from a page that the writer is still on. What it writes there later can be read later.",
		"ring_buffer_read_page",
	}

	sayNoSlot = sentence{
		"All slots that may be tried hold other stacks. The map drops this one, and the trace records the whole stack instead. Nothing is lost but room.",
		"ftrace_stackmap_get_id",
	}
	sayHit = sentence{
		"The slot has this hash, and the addresses are the same. The count of the stack goes up by one; the event carries 4 bytes instead of the stack.",
		"ftrace_stackmap_get_id",
	}
	sayReset = sentence{
		"All slots are empty again, and so are all ids without a meaning that the trace may still hold. That is why the kernel refuses this while tracing is on, and clears the buffer first.",
		"ftrace_stackmap_reset",
	}
)
