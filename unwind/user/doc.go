// Package user walks the stacks of user programs.
//
// A walk begins with the registers that user space had when it entered the kernel, and
// finds the caller's registers again and again. At each frame it needs three things:
//
//	CFA   the value that the stack pointer had before the call; it becomes the caller's sp
//	RA    the return address, which becomes the caller's ip
//	FP    the caller's frame pointer, unless the function has left that register alone
//
// Where they are depends on the [Method]. With frame pointers it is the same for every
// frame of an architecture, and wrong where a program does not keep them:
//
//	x86-64, arm64   CFA fp+16   RA at CFA-8   FP at CFA-16
//	32-bit x86      CFA fp+8    RA at CFA-4   FP at CFA-8
//	s390x           no frame pointer; a word at sp leads to the caller's sp (the back chain)
//
// SFrame has a table that says it for each instruction. See package sframe. For comparison
// there is also .eh_frame, which knows all registers; see package ehframe.
//
// A walk never fails. It returns what it found, and a [Stop] that says why it found no
// more. It ends because every frame has to lie above the one before it, and because the
// number of addresses is limited. It reads at most three words per frame, and each of
// these reads may fault; by .eh_frame it may read more.
//
// Kernel: kernel/unwind/user.c of Linux 6.17. SFrame was only proposed.
package user
