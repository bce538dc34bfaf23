package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"ftracelab/machine"
	"ftracelab/workload/program"
)

// ProgramConfig says how a program of an ELF file runs.
type ProgramConfig struct {
	Image *program.Image
	// Faults is in one of how many stays in the kernel a part of the stack cannot be read,
	// because it is swapped out; 0: always all of it can.
	Faults int
}

// StartProgram adds a process that runs a program of an ELF file. The machine runs a
// scenario of this package.
//
// The process is at real places of the program, with the registers and the stack that it
// has there; see package program. It enters the kernel where the program does: in a
// system call that its code makes, or in a function of the C library that makes one, as far as
// the scenario's kernel knows that system call; and at any instruction by a page fault. When
// the program ends, the process runs it again.
//
// A 32-bit program makes the system calls of i386, with their numbers.
//
// Departure: the kernel functions that the calls of a 32-bit program execute are those of the
// same calls of x86-64.
//
// Departure: what the program computes is not followed, so chance decides at its branches. The
// arguments and results of its system calls are not those of a real run.
func StartProgram(m *machine.Machine, cfg ProgramConfig) (err error) {
	w, ok := m.Workload().(*mix)
	if !ok {
		return errors.New("workload: the machine runs no scenario")
	}
	if cfg.Faults < 0 {
		return fmt.Errorf("workload: %d stays between two faults", cfg.Faults)
	}
	comm := filepath.Base(cfg.Image.Path)
	p := &userProgram{w: w, cfg: cfg, thread: cfg.Image.NewThread(0), rng: m.Rand(fmt.Sprint("program/", cfg.Image.Inode()))}
	maps := slices.Clone(cfg.Image.Maps)
	for i := range maps {
		if maps[i].Inode != 0 {
			maps[i].Dev = DiskMajor << 20
		}
	}
	t := m.Spawn(machine.TaskConfig{Comm: comm[:min(len(comm), maxComm)], Memory: p.thread, Maps: maps, Next: p.next})
	t.Compat, t.Stepped = cfg.Image.Compat, true
	p.trap, err = m.Assemble(100, func(a *machine.Assembler) {
		a.Call("asm_exc_int3").Call("irqentry_exit_to_user_mode").Call("uprobe_notify_resume").Probe().Return(3)
	})
	return err
}

// maxComm is the length of the longest name of a task (TASK_COMM_LEN).
const maxComm = 15

// userProgram is a process that runs a program.
type userProgram struct {
	w      *mix
	cfg    ProgramConfig
	thread *program.Thread
	rng    *rand.Rand
	trap   machine.Code // what it executes at a uprobe
	at     uint64       // the uprobe that it has just hit; 0: none
}

// A process executes at most so many instructions between two stays in the kernel.
const maxInstructions = 2000

// next lets the program run until it enters the kernel.
func (p *userProgram) next(_ *machine.CPU, t *machine.Task) machine.Stay {
	left := 1 + p.rng.IntN(maxInstructions)
	stay, found := machine.Stay{}, false
	for ; left > 0 && !found; left-- {
		if at, hit := p.probed(); hit {
			p.at = at.Addr
			return machine.Stay{
				Kind: machine.Breakpoint, After: p.w.around(machine.Microsecond), Code: p.trap, User: p.thread.Regs(nil).UserRegs,
				Probe: func(c *machine.CPU) {
					if hook := p.w.m.Hooks.Breakpoint; hook != nil {
						hook(c, at)
					}
				},
			}
		}
		p.at = 0
		if p.thread.Step(p.rng.IntN) != nil {
			p.thread.Start()
			continue
		}
		if stay, found = p.call(); found && t != nil && p.number(stay.NR) == sysGetPID {
			stay.Ret = int64(t.TGID)
		}
	}
	if !found {
		stay = machine.Stay{Kind: machine.PageFault, Address: p.heap() + p.rng.Uint64N(1<<20)&^7, ErrorCode: 4, Code: p.pick("fault")}
	}
	stay.After = p.w.around(30 * machine.Microsecond)
	stay.User = p.thread.Regs(nil).UserRegs
	if p.cfg.Faults > 0 && p.rng.IntN(p.cfg.Faults) == 0 {
		p.thread.Away(1)
	}
	return stay
}

// probed reports whether the program has come to a uprobe.
func (p *userProgram) probed() (machine.Place, bool) {
	hook := p.w.m.Hooks.Probed
	if hook == nil {
		return machine.Place{}, false
	}
	at, ok := p.thread.Place()
	return at, ok && at.Addr != p.at && hook(at.File, at.Offset)
}

// heap is where the program's data lies.
func (p *userProgram) heap() uint64 {
	if p.cfg.Image.Compat {
		return 0xf7a00000
	}
	return 0x7ffff7a00000
}

func (p *userProgram) pick(key string) machine.Code { return pick(p.rng, p.w.codes[key]) }

// call is the system call that the program is about to make, if it makes one.
func (p *userProgram) call() (machine.Stay, bool) {
	nr, ok := p.thread.Syscall()
	if !ok {
		c, known := libraryCalls[p.thread.Library()]
		if !known || p.rng.IntN(c.seldom) != 0 {
			return machine.Stay{}, false
		}
		nr = c.nr
	}
	stay := machine.Stay{Kind: machine.Syscall, NR: nr}
	if p.cfg.Image.Compat && p.thread.Library() != "" {
		stay.NR = compatNumber(nr)
	} else {
		nr = p.number(nr)
	}
	key := fmt.Sprintf("sys %d", nr)
	// Where the kernel knows both, a call waits every other time.
	asleep, awake := len(p.w.codes[key+" sleeps"]) > 0, len(p.w.codes[key]) > 0
	if nr != sysExitGroup && asleep && (!awake || p.rng.IntN(2) == 0) {
		stay.Code = p.pick(key + " sleeps")
		stay.Wait = machine.Wait{Timeout: p.w.around(300 * machine.Microsecond), By: machine.Sleep}
		return stay, true
	}
	stay.Code = p.pick(key)
	return stay, awake && nr != sysExitGroup && nr != sysExecve && nr != sysClone
}

// libraryCall is the system call that a function of the C library makes, and in one of how
// many calls it does so.
type libraryCall struct {
	nr     int64
	seldom int
}

// libraryCalls are the system calls of functions of the C library. Those that read and write
// streams, and those that hand out memory, make one only if their buffer is used up; how
// often that is, is a guess.
var libraryCalls = map[string]libraryCall{
	"read": {0, 1}, "fread": {0, 4}, "fgets": {0, 4}, "getc": {0, 16}, "fgetc": {0, 16}, "getline": {0, 4}, "getchar": {0, 16}, "scanf": {0, 4},
	"write": {1, 1}, "fflush": {1, 1}, "puts": {1, 4}, "printf": {1, 4}, "__printf_chk": {1, 4}, "fputs": {1, 4}, "fwrite": {1, 4}, "fputc": {1, 16},
	"putc": {1, 16}, "putchar": {1, 16}, "fprintf": {1, 2}, "__fprintf_chk": {1, 2}, "vfprintf": {1, 2}, "__vfprintf_chk": {1, 2}, "perror": {1, 1},
	"open": {257, 1}, "open64": {257, 1}, "openat": {257, 1}, "__open_2": {257, 1}, "__open64_2": {257, 1}, "fopen": {257, 1}, "fopen64": {257, 1},
	"close": {3, 1}, "fclose": {3, 1}, "stat": {262, 1}, "fstat": {262, 1}, "lstat": {262, 1}, "fstatat": {262, 1}, "__xstat": {262, 1}, "__fxstat": {262, 1},
	"stat64": {262, 1}, "fstat64": {262, 1}, "lstat64": {262, 1}, "poll": {7, 1}, "select": {7, 1}, "lseek": {8, 1}, "lseek64": {8, 1},
	"mmap": {9, 1}, "mmap64": {9, 1}, "mprotect": {10, 1}, "munmap": {11, 1}, "brk": {12, 1}, "sbrk": {12, 1}, "malloc": {12, 16}, "calloc": {12, 16}, "realloc": {12, 16},
	"sigaction": {13, 1}, "sigprocmask": {14, 1}, "ioctl": {16, 1}, "tcgetattr": {16, 1}, "tcsetattr": {16, 1}, "isatty": {16, 1},
	"access": {21, 1}, "dup2": {33, 1}, "getpid": {39, 1}, "nanosleep": {230, 1}, "usleep": {230, 1}, "sleep": {230, 1}, "clock_nanosleep": {230, 1},
	"waitpid": {61, 1}, "wait": {61, 1}, "wait4": {61, 1}, "uname": {63, 1}, "fcntl": {72, 1}, "fcntl64": {72, 1}, "rename": {82, 1}, "mkdir": {83, 1},
	"unlink": {87, 1}, "readlink": {89, 1}, "chmod": {91, 1}, "getuid": {102, 1}, "geteuid": {107, 1}, "getgid": {104, 1}, "getegid": {108, 1},
	"readdir": {217, 4}, "readdir64": {217, 4}, "pipe": {293, 1}, "pipe2": {293, 1}, "getrandom": {318, 1}, "pthread_mutex_lock": {202, 4}, "pthread_cond_wait": {202, 1},
}

// number is the number in x86-64 of a system call of the program; -1: it has none.
func (p *userProgram) number(nr int64) int64 {
	if !p.cfg.Image.Compat {
		return nr
	}
	if nr, ok := compatCalls[nr]; ok {
		return nr
	}
	return -1
}

// compatCalls are the system calls of i386 that the scenario's kernel may know, by their
// number there: the numbers of x86-64.
//
// Kernel: arch/x86/entry/syscalls/syscall_32.tbl.
var compatCalls = map[int64]int64{
	3: 0, 4: 1, 5: 257, 6: 3, 19: 8, 20: 39, 24: 102, 33: 21, 38: 82, 39: 83, 40: 84, 45: 12, 54: 16, 63: 33, 64: 110, 85: 89, 90: 9, 91: 11,
	114: 61, 122: 63, 125: 10, 141: 217, 162: 230, 168: 7, 174: 13, 175: 14, 192: 9, 195: 262, 197: 262, 199: 102, 200: 104, 201: 107,
	202: 108, 220: 217, 221: 72, 224: 186, 240: 202, 252: 231, 267: 230, 295: 257, 331: 293, 355: 318,
}

// compatNumber is the number that a system call of x86-64 has in i386, the smallest one.
func compatNumber(nr int64) int64 {
	found := int64(-1)
	for compat, same := range compatCalls {
		if same == nr && (found < 0 || compat < found) {
			found = compat
		}
	}
	return found
}
