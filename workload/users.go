package workload

// Users are processes as a capture of their system calls with user stacks shows them:
// which programs run, who forks whom, and from which places of their programs they enter
// the kernel.
//
// Departure: of a place, the capture shows what a walk along frame pointers finds. So the
// stack of a process has frames with these words and nothing else, and where on the real
// stack they lie is not known. The arguments of a system call are those with which it was
// made from that place the first time; its result is made up. The stacks of threads lie at
// the addresses of that of their process.
type Users struct {
	Calls  []UserCall
	Images []UserImage
	Lives  []UserLife
	Groups []UserGroup
}

// UserCall is a system call.
type UserCall struct {
	NR   int32
	Func string // the function that carries it out
	// Waits says that the process waits for a child to end.
	Waits bool
}

// UserGroup is what one capture showed. Its first process forks all others.
type UserGroup struct {
	Name  string
	Root  int32 // index into Lives
	Image int32 // in which it begins
	// Switches says that the capture has context switches. Without them, it is not known
	// whether a process slept.
	Switches bool
}

// UserImage is a program in an address space. Each process that executes it has new
// addresses: see UserBase.
type UserImage struct {
	Comm  string
	Bases []UserBase
	Maps  []UserMap
	// The words that are on its stacks: Offset from a base, or the Offset itself if Base
	// is 0. Bases are counted from 1.
	Base   []byte
	Offset []int64
	// The places from which it enters the kernel, one in each element: the index of the
	// call, how many words a walk finds, and how many ns the process has computed before.
	Call, Depth []byte
	Busy        []uint32
	Words       []uint16 // the words of all places
	Args        []uint16 // the arguments of their calls, as words: six for each place
}

// UserBase says how the addresses of a part of an address space are chosen. Parts with
// different bases move independently.
type UserBase uint8

// The bases. In the captures, the words of a part all moved by the same distance from one
// run of a program to the next.
const (
	TextBase   UserBase = iota // the program, which is position-independent
	HeapBase                   // memory behind it
	MapBase                    // the libraries
	StackBase                  // the arguments and the environment
	FrameBase                  // the frames of functions, which begin at any multiple of 16
	ChanceBase                 // no address, but different in each process
)

// UserMap is a mapping of a file. Base is counted from 1; 0 stands for fixed addresses.
type UserMap struct {
	Base               byte
	Start, End, Offset int64
	Path               string
}

// UserLife is the life of a process, or of a thread, from its fork on.
type UserLife struct {
	Places []uint16 // of the parent's image, and after an exec of another one
	Exec   int32    // the image that it executes; -1: none
	At     int32    // the execve is at this index of Places
	Thread bool
	Forks  []int32 // the lives of the children, in the order of the forks
	// After the place PauseAt (counted from the pause before), nothing was seen of the
	// process for Pause, in units of 0.1 ms. Asleep says that it slept, which only a
	// capture with context switches shows.
	PauseAt, Pause []uint16
	Asleep         []bool
	// The places from From to To are visited Rounds times.
	From, To, Rounds int32
}
