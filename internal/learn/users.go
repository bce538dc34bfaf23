package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"ftracelab/workload"
)

// userCaptures are the captures of system calls with user stacks from which processes are
// learned. Of what a shell repeats there, two rounds are learned from; see learnFrom.
var userCaptures = []struct {
	group, folder string
	switches      bool // it has context switches, too
}{
	{"users", "debian/stacks/user_stack", false},
	{"frames", "ustack_dead", true},
}

// userLearner collects processes.
type userLearner struct {
	out    workload.Users
	names  map[int32]string // of system calls
	calls  map[workload.UserCall]int
	libs   map[string]*library
	spaces []*userSpace // of the capture
	lives  map[string]int32
}

// learnUsers makes the processes from the captures and writes them to out.
func learnUsers(oracleDir, subsystems, out string) error {
	ids, err := eventIDs(oracle(filepath.Join(oracleDir, "debian")))
	if err != nil {
		return err
	}
	numbers, err := syscallNumbers()
	if err != nil {
		return err
	}
	l := &userLearner{names: map[int32]string{}, calls: map[workload.UserCall]int{}, lives: map[string]int32{}}
	for name, nr := range numbers {
		l.names[nr] = "__x64_sys_" + name
	}
	if l.libs, err = readLibraries([]string{filepath.Join(oracleDir, "debian/stacks/user_stack"), filepath.Join(subsystems, "ustack_fp")}); err != nil {
		return err
	}
	for _, c := range userCaptures {
		dir := captureDir(oracleDir, subsystems, c.folder)
		root, err := readUserRuns(dir, ids)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		l.group(c.group, root)
		l.out.Groups[len(l.out.Groups)-1].Switches = c.switches
	}
	places, words := 0, 0
	for i := range l.out.Images {
		places, words = places+len(l.out.Images[i].Call), words+len(l.out.Images[i].Offset)
	}
	fmt.Printf("%d images, %d places, %d words, %d lives\n", len(l.out.Images), places, words, len(l.out.Lives))
	for _, known := range []any{&workload.Model{}, &workload.Trails{}} {
		// A gob numbers types in the order in which it meets them: see learnTrails.
		if err := gob.NewEncoder(io.Discard).Encode(known); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&l.out); err != nil {
		return err
	}
	return writeGzip(out, b.Bytes())
}

// group adds what a capture shows.
func (l *userLearner) group(name string, root *userRun) {
	from, to, rounds := root.selectRounds()
	first := &userSpace{comm: root.comm, key: map[string]int{}}
	l.spaces = []*userSpace{first}
	l.enter(root, first)
	for _, s := range l.spaces {
		s.partition()
		s.image = int32(len(l.out.Images))
		im := workload.UserImage{Comm: s.comm, Maps: s.maps(l.libs)}
		for _, p := range s.parts {
			im.Bases = append(im.Bases, p.base)
		}
		l.out.Images = append(l.out.Images, im)
	}
	life := l.life(root)
	if rounds > 0 {
		l.out.Lives[life].From, l.out.Lives[life].To, l.out.Lives[life].Rounds = int32(from), int32(to), int32(rounds)
	}
	for _, s := range l.spaces {
		im := &l.out.Images[s.image]
		for _, gaps := range s.gaps {
			slices.Sort(gaps)
			im.Busy = append(im.Busy, rounded(gaps[len(gaps)/2]))
		}
	}
	l.out.Groups = append(l.out.Groups, workload.UserGroup{Name: name, Root: life, Image: first.image})
}

// pauseUnit is the unit of UserLife.Pause, in ns.
const pauseUnit = 100_000

// shortSleep is how long a task must have slept between two calls to be seen asleep.
const shortSleep = 2 * pauseUnit

// life adds a task and its children. It returns the index of its life.
func (l *userLearner) life(r *userRun) int32 {
	life := workload.UserLife{Exec: -1, Thread: r.thread}
	last := 0
	for i := range r.calls {
		c := &r.calls[i]
		gap := c.gap - min(c.gap, c.slept+c.off)
		pause := func(d uint64, asleep bool) {
			life.PauseAt, life.Asleep = append(life.PauseAt, uint16(i-1-last)), append(life.Asleep, asleep)
			life.Pause = append(life.Pause, uint16(min(rounded(d)/pauseUnit, 1<<16-1)))
			last = i - 1
		}
		if c.slept > shortSleep {
			pause(c.slept, true)
		}
		if gap > longGap {
			pause(gap, false)
			gap = 0
		}
		life.Places = append(life.Places, l.place(c, gap))
		if i > 0 && c.space != r.calls[i-1].space {
			life.Exec, life.At = c.space.image, int32(i-1)
		}
	}
	for _, c := range r.children {
		life.Forks = append(life.Forks, l.life(c))
	}
	key := fmt.Sprint(life)
	at, ok := l.lives[key]
	if !ok {
		at = int32(len(l.out.Lives))
		l.lives[key] = at
		l.out.Lives = append(l.out.Lives, life)
	}
	return at
}

// place gives the place from which a call is made.
func (l *userLearner) place(c *userCall, gap uint64) uint16 {
	const noHang = 1
	call := workload.UserCall{NR: c.nr, Func: l.names[c.nr], Waits: c.nr == 61 && c.args[2]&noHang == 0}
	n, ok := l.calls[call]
	if !ok {
		n = len(l.out.Calls)
		l.calls[call] = n
		l.out.Calls = append(l.out.Calls, call)
	}
	im := &l.out.Images[c.space.image]
	var words []uint16
	for _, w := range c.stack {
		words = append(words, l.word(c.space, w))
	}
	key := fmt.Sprint(n, words)
	at, ok := c.space.key[key]
	if !ok {
		at = len(im.Call)
		c.space.key[key] = at
		im.Call, im.Depth, im.Words = append(im.Call, byte(n)), append(im.Depth, byte(len(words))), append(im.Words, words...)
		c.space.gaps = append(c.space.gaps, nil)
		for _, w := range c.args {
			im.Args = append(im.Args, l.word(c.space, w))
		}
	}
	c.space.gaps[at] = append(c.space.gaps[at], gap)
	return uint16(at)
}

// word gives the index of a word in the image of a space.
func (l *userLearner) word(s *userSpace, w uint64) uint16 {
	im := &l.out.Images[s.image]
	base, off := s.where(w)
	for i, o := range im.Offset {
		if o == off && im.Base[i] == base {
			return uint16(i)
		}
	}
	im.Base, im.Offset = append(im.Base, base), append(im.Offset, off)
	return uint16(len(im.Offset) - 1)
}
