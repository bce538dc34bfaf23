// Package btf is the type information of the simulated kernel (BPF type format):
// prototypes of functions and tracepoints and the layouts of structures, which
// dynamic probes use to find an argument or a field by its name.
//
//	model, err := btf.Load()
//	fn, ok := model.Func("vfs_read")           // ssize_t vfs_read(struct file *file, …)
//	off, ok := model.Offset("file", "f_path.dentry")
//
// Two texts hold it: functions.txt has prototypes as C writes them, types.txt has
// structures with their sizes and the offsets of their members. Both are made from
// the BTF of Debian's kernel (docs/provenance.md). Types have numbers; typedefs, const
// and volatile are resolved.
//
// Departure: a kernel's BTF has all its functions and types. Here are the functions
// that the workload calls, the tracepoints, and the structures that a task, a file, a
// slab cache, a request and what they contain are made of. A structure that is only
// pointed to has no members.
//
// Kernel: kernel/bpf/btf.c, kernel/trace/trace_btf.c.
package btf
