package main

import (
	"errors"
	"fmt"
	"strings"

	"ftracelab/internal/vmlinux"
	"ftracelab/machine"
	"ftracelab/workload"
)

// prototypeModules are the modules for whose tracepoints prototypes are written.
var prototypeModules = []string{"9pnet", "netfs"}

// structures are the structures whose layouts are written, together with everything
// that lies within them: those of a task, a file, a slab cache, a request and memory.
var structures = strings.Fields(`bio cred dentry file file_system_type files_struct filename folio fs_struct inode
	iov_iter irqaction kernel_clone_args kiocb kmem_cache linux_binprm mm_struct nsproxy open_flags open_how pid
	pipe_inode_info pt_regs request rq sighand_struct signal_struct slab super_block task_struct vfsmount
	vm_area_struct`)

// functions are further functions whose prototypes are written. The learned model does
// not call them, but code that is written by hand does, or the kernel's tests and
// documents name them.
var functions = strings.Fields(`blk_mq_start_request do_rmdir do_sys_open eventfs_create_dir icmp_echo icmp_rcv
	inet_csk_accept name_show netif_receive_skb_core proc_reg_write set_fs_root submit_bio tcp_v4_connect
	tracefs_create_dir vfs_fsync vfs_getattr vfs_rmdir vfs_statfs`)

const (
	functionsHead = `# Prototypes of functions of Linux 6.12.117 that the workload calls, and of the stubs
# of tracepoints, whose first parameter is hidden. Made from the BTF of Debian's
# kernel image; see docs/provenance.md.

`
	typesHead = `# Layouts of structures of Linux 6.12.117 as Debian configures it for x86-64. Made from
# the BTF of its kernel image; see docs/provenance.md.
#
#	typedef TYPE NAME
#	struct NAME SIZE
#		OFFSET TYPE NAME[ELEMENTS]:BITS		OFFSET is bytes, or bytes.bits of a bitfield
#		OFFSET union SIZE NAME			a member whose type has no name, its members below it

`
	stubPrefix = "__probestub_"
)

// kernelTypes makes functions.txt and types.txt from an unpacked kernel package.
func kernelTypes(dir string) (files map[string][]byte, err error) {
	d, err := readBTF(dir, prototypeModules)
	if err != nil {
		return nil, err
	}
	wanted, err := called()
	if err != nil {
		return nil, err
	}
	for _, name := range functions {
		wanted[name] = true
	}
	w := &writer{types: d.types, typedefs: map[string]string{}, wanted: map[string]int{}}
	protos := map[string]string{}
	for id := range d.types {
		t := &d.types[id]
		if t.kind == kindFunc && (wanted[t.name] || strings.HasPrefix(t.name, stubPrefix)) && protos[t.name] == "" {
			protos[t.name] = w.prototype(t)
		}
		if t.kind == kindStruct && t.name != "" {
			for _, name := range structures {
				if t.name == name && w.wanted["struct "+name] == 0 {
					w.wanted["struct "+name] = id
				}
			}
		}
	}
	for _, name := range functions {
		if protos[name] == "" {
			return nil, fmt.Errorf("btf: there is no function %s", name)
		}
	}
	for _, name := range structures {
		if w.wanted["struct "+name] == 0 {
			return nil, fmt.Errorf("btf: there is no structure %s", name)
		}
	}
	layouts := w.layouts()
	var protoText, typedefText strings.Builder
	for _, name := range sortedKeys(protos) {
		protoText.WriteString(protos[name] + "\n")
	}
	for _, name := range w.order {
		fmt.Fprintf(&typedefText, "typedef %s %s\n", w.typedefs[name], name)
	}
	return map[string][]byte{
		"functions.txt": []byte(functionsHead + protoText.String()),
		"types.txt":     []byte(typesHead + typedefText.String() + "\n" + layouts),
	}, w.err
}

// readBTF reads the kernel's types and those of modules.
func readBTF(dir string, modules []string) (*btfData, error) {
	kernel, err := vmlinux.Kernel(dir)
	if err != nil {
		return nil, err
	}
	d := new(btfData)
	if err := d.parseELF(kernel); err != nil {
		return nil, fmt.Errorf("the kernel in %s: %w", dir, err)
	}
	base := *d
	for _, name := range modules {
		program, err := vmlinux.Module(dir, name)
		if err != nil {
			return nil, err
		}
		module := btfData{base.types[:len(base.types):len(base.types)], base.names[:len(base.names):len(base.names)]}
		if err := module.parseELF(program); err != nil {
			return nil, fmt.Errorf("the module %s in %s: %w", name, dir, err)
		}
		d.append(module, len(base.types))
	}
	return d, nil
}

// append adds the types of a module. They refer to those of the kernel, and to each
// other by numbers from first on.
func (d *btfData) append(module btfData, first int) {
	shift := len(d.types) - first
	for _, t := range module.types[first:] {
		parts := make([]part, len(t.parts))
		for n, p := range t.parts {
			if p.to >= first {
				p.to += shift
			}
			parts[n] = p
		}
		t.parts = parts
		if t.refers() && t.to >= first {
			t.to += shift
		}
		d.types = append(d.types, t)
	}
}

// called gives the names of the functions that the workload's model calls.
func called() (map[string]bool, error) {
	m, err := workload.LoadModel()
	if err != nil {
		return nil, err
	}
	syms, err := machine.LoadKallsyms()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, site := range m.Sites {
		if s, ok := syms.At(site.Func); ok {
			names[s.Name] = true
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the model calls no function")
	}
	return names, nil
}
