package machine

import "slices"

// The kernel stack in bytes. A call leaves the frame of its caller and a return address
// on the stack. A jump leaves nothing: the new function takes the place of the one that
// has jumped.

const (
	// entryUse is where the return address of the first function lies if the kernel was
	// entered from user space: just below struct pt_regs.
	entryUse = 176
	// threadUse is the same for a kernel thread.
	threadUse = 192
)

// frameUse is the size of a function's frame and a return address.
//
// Departure: the sizes of frames are made up, from 16 to 264 bytes. A function always
// has the same size.
func frameUse(fn uint64) int {
	h := fn >> 4 * 0x9e3779b97f4a7c15
	small, large := int(h>>60), int(h>>55&0x1f)
	if h>>52&7 == 0 { // one function in eight has something large on its stack
		return 16 + 8*large
	}
	return 16 + 8*small
}

// StackUse tells how many bytes of kernel stack the running task uses, up to the return
// address of the innermost function.
func (c *CPU) StackUse() (use int) {
	for use = range c.Current.stackUse {
	}
	return use
}

// stackUse yields the places of the return addresses on the stack, in bytes from its
// top, the outermost first.
func (t *Task) stackUse(yield func(int) bool) {
	use := entryUse
	if t.Kernel {
		use = threadUse
	}
	for n := range t.frames {
		f := &t.frames[n]
		switch {
		case f.skip:
			return
		case n == 0 && f.orig == 0 || f.tail:
			continue
		case n > 1 || n == 1 && t.frames[0].orig != 0:
			use += frameUse(t.frames[n-1].Func)
		}
		if !yield(use) {
			return
		}
	}
}

// AppendStackUse appends the place of each address of [CPU.AppendKernelStack], in bytes
// from the top of the stack. The first one is the place of the innermost function's
// return address; nothing below it was in use when that function was entered.
func (c *CPU) AppendStackUse(dst []int) []int {
	first := len(dst)
	use := 0
	for use = range c.Current.stackUse {
		dst = append(dst, use)
	}
	dst = append(dst, use)
	slices.Reverse(dst[first:])
	return dst
}
