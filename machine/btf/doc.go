// Package btf holds the type information of the simulated kernel (BTF, BPF type
// format): the prototypes of functions and tracepoints, and the layouts of structures.
// Dynamic probes use it to find an argument or a field by its name.
//
//	model, err := btf.Load()
//	fn, ok := model.Func("vfs_read")           // ssize_t vfs_read(struct file *file, …)
//	off, ok := model.Offset("file", "f_path.dentry")
//
// It comes from two texts: functions.txt has prototypes in the form of C, types.txt has
// structures with their sizes and the offsets of their members. Both are made from the
// BTF of Debian's kernel (docs/provenance.md). Types have numbers; typedefs, const and
// volatile are resolved.
//
// Departure: the BTF of a kernel has all of its functions and types. This one has the
// functions that the workload calls, the tracepoints, and the structures of a task, a
// file, a slab cache and a request with everything that these contain. A structure to
// which they only point has no members.
//
// Kernel: kernel/bpf/btf.c, kernel/trace/trace_btf.c.
package btf
