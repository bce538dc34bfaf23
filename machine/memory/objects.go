package memory

import "ftracelab/machine"

// declarations say what is known about each kind of objects. A text whose member has no
// name begins at textAt.
var declarations = [numKinds]struct {
	structure string
	stride    uint64 // the distance between objects, if that is larger than the structure
	textAt    uint64
	members   []member
}{
	kindTask: {structure: "task_struct", members: []member{
		{path: "__state", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.State()) &^ machine.StatePreempted }},
		{path: "stack", word: func(mem *Memory, o *object) uint64 { return stackOf(o.task) }},
		{path: "usage.refs.counter", word: number(1)},
		{path: "flags", word: func(_ *Memory, o *object) uint64 { return taskFlags(o.task) }},
		{path: "on_cpu", word: func(mem *Memory, o *object) uint64 { return truth(mem.running(o.task)) }},
		{path: "on_rq", word: func(_ *Memory, o *object) uint64 { return truth(o.task.State() == machine.StateRunning) }},
		{path: "recent_used_cpu", word: func(_ *Memory, o *object) uint64 { return cpuOf(o.task) }},
		{path: "wake_cpu", word: func(_ *Memory, o *object) uint64 { return cpuOf(o.task) }},
		{path: "thread_info.cpu", word: func(_ *Memory, o *object) uint64 { return cpuOf(o.task) }},
		{path: "prio", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.Prio) }},
		{path: "static_prio", word: func(_ *Memory, o *object) uint64 { return uint64(120 + o.task.Nice()) }},
		{path: "normal_prio", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.Prio) }},
		{path: "rt_priority", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.RTPriority()) }},
		{path: "policy", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.Policy) }},
		{path: "se.load.weight", word: number(1 << 20)},
		{path: "se.sum_exec_runtime", word: func(_ *Memory, o *object) uint64 { return o.task.Runtime() }},
		{path: "nr_cpus_allowed", word: func(mem *Memory, _ *object) uint64 { return uint64(len(mem.m.CPUs())) }},
		{path: "mm", word: func(mem *Memory, o *object) uint64 { return mem.mm(o.task) }},
		{path: "active_mm", word: func(mem *Memory, o *object) uint64 { return mem.mm(o.task) }},
		{path: "pid", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.PID) }},
		{path: "tgid", word: func(_ *Memory, o *object) uint64 { return uint64(o.task.TGID) }},
		{path: "real_parent", word: parent},
		{path: "parent", word: parent},
		{path: "group_leader", word: func(mem *Memory, o *object) uint64 { return mem.leader(o.task) }},
		{path: "utime", word: func(_ *Memory, o *object) uint64 { return o.task.Runtime() / 2 }},
		{path: "stime", word: func(_ *Memory, o *object) uint64 { return o.task.Runtime() / 2 }},
		{path: "start_time", word: func(_ *Memory, o *object) uint64 { return o.task.StartTime() }},
		{path: "start_boottime", word: func(_ *Memory, o *object) uint64 { return o.task.StartTime() }},
		{path: "real_cred", word: cred},
		{path: "cred", word: cred},
		{path: "comm", text: func(_ *Memory, o *object) string { return o.task.Comm }},
		{path: "files", word: func(mem *Memory, o *object) uint64 { return mem.partOf(kindFiles, o.task) }},
	}},
	kindMM: {structure: "mm_struct", members: []member{
		{path: "owner", word: func(mem *Memory, o *object) uint64 { return mem.leader(o.task) }},
		{path: "task_size", word: number(userEnd)},
		{path: "map_count", word: func(_ *Memory, o *object) uint64 { return uint64(len(o.task.Maps)) }},
		{path: "mm_users.counter", word: number(1)},
		{path: "mm_count.counter", word: number(1)},
	}},
	kindCred: {structure: "cred", members: []member{
		{path: "usage.counter", word: number(2)},
		{path: "uid.val", word: uid},
		{path: "gid.val", word: uid},
		{path: "suid.val", word: uid},
		{path: "sgid.val", word: uid},
		{path: "euid.val", word: uid},
		{path: "egid.val", word: uid},
		{path: "fsuid.val", word: uid},
		{path: "fsgid.val", word: uid},
	}},
	kindFiles: {structure: "files_struct", members: []member{
		{path: "count.counter", word: number(1)},
	}},
	kindFile: {structure: "file", members: []member{
		{path: "f_count.counter", word: number(1)},
		{path: "f_mode", word: fileMode},
		{path: "f_flags", word: func(_ *Memory, o *object) uint64 { return o.flags &^ openOnly }},
		{path: "f_cred", word: cred},
		{path: "f_inode", word: fileInode},
		{path: "f_mapping", word: func(mem *Memory, o *object) uint64 { return mem.inode(o.text) + mem.offset("inode", "i_data") }},
		{path: "f_path.mnt", word: mount},
		{path: "f_path.dentry", word: func(mem *Memory, o *object) uint64 { return mem.dentry(o.text) }},
	}},
	kindDentry: {structure: "dentry", members: []member{
		{path: "d_parent", word: func(mem *Memory, o *object) uint64 { return mem.dentry(dir(o.text)) }},
		{path: "d_name.hash", word: func(_ *Memory, o *object) uint64 { return hash(base(o.text)) & 0xffffffff }},
		{path: "d_name.len", word: func(_ *Memory, o *object) uint64 { return uint64(len(base(o.text))) }},
		{path: "d_name.name", word: (*Memory).dentryName},
		{path: "d_inode", word: func(mem *Memory, o *object) uint64 { return mem.inode(o.text) }},
		{path: "d_iname", text: func(_ *Memory, o *object) string { return short(base(o.text), inlineName) }},
		{path: "d_sb", word: super},
		{path: "d_lockref.count", word: number(1)},
	}},
	kindInode: {structure: "inode", members: []member{
		{path: "i_mode", word: number(0o100644)},
		{path: "i_ino", word: func(_ *Memory, o *object) uint64 { return 1 + hash(o.text)%0xfffff }},
		{path: "i_sb", word: super},
		{path: "i_mapping", word: func(mem *Memory, o *object) uint64 { return o.addr + mem.offset("inode", "i_data") }},
		{path: "i_data.host", word: func(_ *Memory, o *object) uint64 { return o.addr }},
		{path: "i_nlink", word: number(1)},
		{path: "i_count.counter", word: number(1)},
	}},
	kindSuper: {structure: "super_block", members: []member{
		{path: "s_blocksize", word: number(pageSize)},
		{path: "s_blocksize_bits", word: number(12)},
		{path: "s_root", word: func(mem *Memory, _ *object) uint64 { return mem.dentry("/") }},
		{path: "s_type", word: func(mem *Memory, o *object) uint64 { return mem.object(kindFSType, o.key).addr }},
		{path: "s_id", text: func(_ *Memory, o *object) string { return o.text }},
	}},
	kindFSType: {structure: "file_system_type", members: []member{
		{path: "name", word: (*Memory).name},
	}},
	kindMount: {structure: "vfsmount", members: []member{
		{path: "mnt_root", word: func(mem *Memory, _ *object) uint64 { return mem.dentry("/") }},
		{path: "mnt_sb", word: func(mem *Memory, o *object) uint64 { return mem.object(kindSuper, o.key).addr }},
	}},
	kindPath: {structure: "path", members: []member{
		{path: "mnt", word: mount},
		{path: "dentry", word: func(mem *Memory, o *object) uint64 { return mem.dentry(o.text) }},
	}},
	kindFilename: {structure: "filename", stride: pageSize, textAt: 32, members: []member{
		{path: "name", word: func(_ *Memory, o *object) uint64 { return o.addr + 32 }},
		{path: "uptr", word: func(_ *Memory, o *object) uint64 { return o.n }},
		{path: "refcnt.counter", word: number(1)},
		{text: func(_ *Memory, o *object) string { return o.text }},
	}},
	kindCache: {structure: "kmem_cache", members: []member{
		{path: "name", word: (*Memory).name},
		{path: "size", word: func(_ *Memory, o *object) uint64 { return o.n }},
		{path: "object_size", word: func(_ *Memory, o *object) uint64 { return o.n }},
		{path: "inuse", word: func(_ *Memory, o *object) uint64 { return o.n }},
		{path: "align", word: number(8)},
		{path: "refcount", word: number(1)},
	}},
	kindHow: {structure: "open_how", members: []member{
		{path: "flags", word: func(_ *Memory, o *object) uint64 { return o.n >> 16 }},
		{path: "mode", word: func(_ *Memory, o *object) uint64 { return o.n & 0xffff }},
	}},
	kindClone: {structure: "kernel_clone_args", members: []member{
		{path: "flags", word: func(_ *Memory, o *object) uint64 { return o.n &^ 0xff }},
		{path: "exit_signal", word: func(_ *Memory, o *object) uint64 { return o.n & 0xff }},
	}},
	kindString: {stride: pageSize, members: []member{
		{text: func(_ *Memory, o *object) string { return o.text }},
	}},
	kindOpaque: {stride: pageSize},
}

// inlineName is the room for a name within a dentry, its NUL included.
const inlineName = 40

func number(n uint64) func(*Memory, *object) uint64 {
	return func(*Memory, *object) uint64 { return n }
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// short gives text if it fits into size bytes together with a NUL, and otherwise "".
func short(text string, size int) string {
	if len(text) < size {
		return text
	}
	return ""
}

// The objects to which others point. Each function returns an address.

func (mem *Memory) task(t *machine.Task) *object {
	n := uint64(t.PID)
	if t.PID == 0 && t.CPU() != nil {
		n = 1<<32 + uint64(t.CPU().ID)
	}
	o := mem.object(kindTask, key{n: n})
	o.task = t
	if n == 1<<32 {
		if addr, ok := mem.m.Kallsyms().Address("init_task"); ok {
			o.addr = addr
		}
	}
	return o
}

// Task is the address of t's task_struct; 0 if t is nil.
func (mem *Memory) Task(t *machine.Task) uint64 {
	if t == nil {
		return 0
	}
	return mem.task(t).addr
}

// partOf gives an object that the threads of t's process share.
func (mem *Memory) partOf(kind kind, t *machine.Task) uint64 {
	o := mem.object(kind, key{n: uint64(t.TGID)})
	o.task = t
	return o.addr
}

func (mem *Memory) mm(t *machine.Task) uint64 {
	if t.Kernel {
		return 0
	}
	return mem.partOf(kindMM, t)
}

// leader gives the first thread of t's process.
func (mem *Memory) leader(t *machine.Task) uint64 {
	if first := mem.m.Task(t.TGID); first != nil && t.TGID != 0 {
		t = first
	}
	return mem.Task(t)
}

func (mem *Memory) running(t *machine.Task) bool { return t.CPU() != nil && t.CPU().Current == t }

func parent(mem *Memory, o *object) uint64 {
	if p := o.task.Parent; p != nil {
		return mem.Task(p)
	}
	return mem.Task(mem.m.CPUs()[0].Idle())
}

// cred gives the credentials, which all tasks of a user share.
func cred(mem *Memory, o *object) uint64 {
	user := uint64(0)
	if o.task != nil {
		user = uint64(o.task.UID)
	}
	return mem.object(kindCred, key{n: user}).addr
}

func uid(_ *Memory, o *object) uint64 { return o.n }

func cpuOf(t *machine.Task) uint64 {
	if t.CPU() == nil {
		return 0
	}
	return uint64(t.CPU().ID)
}

// taskFlags gives PF_KTHREAD for a kernel thread and, for an idle task, also PF_IDLE.
//
// Kernel: include/linux/sched.h.
func taskFlags(t *machine.Task) (flags uint64) {
	if t.Kernel {
		flags |= 0x200000
	}
	if t.PID == 0 {
		flags |= 0x2
	}
	return flags
}

func (mem *Memory) dentry(path string) uint64 { return mem.object(kindDentry, key{text: path}).addr }
func (mem *Memory) inode(path string) uint64  { return mem.object(kindInode, key{text: path}).addr }

// text gives the address of a string in the kernel's memory.
func (mem *Memory) text(s string) uint64 { return mem.object(kindString, key{text: s}).addr }

// name gives the address of an object's name.
func (mem *Memory) name(o *object) uint64 { return mem.text(o.text) }

// dentryName gives the address of a dentry's name. A short name lies within the dentry.
func (mem *Memory) dentryName(o *object) uint64 {
	if name := base(o.text); len(name) >= inlineName {
		return mem.text(name)
	}
	return o.addr + mem.offset("dentry", "d_iname")
}

// super gives the super block, and mount the mount, of the file system in which an
// object's path lies.
func super(mem *Memory, o *object) uint64 {
	return mem.object(kindSuper, key{text: fileSystem(o.text)}).addr
}

func mount(mem *Memory, o *object) uint64 {
	return mem.object(kindMount, key{text: fileSystem(o.text)}).addr
}

// structure gives an object of a type about which nothing is known.
func (mem *Memory) structure(name string, n uint64) uint64 {
	return mem.object(kindOpaque, key{n: n, text: name}).addr
}

// offset gives the place of a member, which has to exist.
func (mem *Memory) offset(structure, path string) uint64 {
	off, _ := mem.types.Offset(structure, path)
	return off
}

// fileSystem gives the type of the file system in which a path lies.
func fileSystem(path string) string {
	for _, m := range [...]struct{ at, kind string }{
		{"/sys/kernel/tracing", "tracefs"},
		{"/proc", "proc"},
		{"/sys", "sysfs"},
		{"/dev", "devtmpfs"},
		{"/tmp", "tmpfs"},
		{"/run", "tmpfs"},
	} {
		if len(path) >= len(m.at) && path[:len(m.at)] == m.at {
			return m.kind
		}
	}
	return "ext4"
}

// hash makes a number from a text, always the same one.
func hash(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return h
}
