package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The loads that blend makes: for the default scenario, and for a machine on which programs
// of this computer run as well.
const (
	mixedLoad  = "mixed"
	besideLoad = "mixed, as captured"
)

// mixedParts are the loads of which it is made. The same programs ran in all three: in one
// capture they show their allocations, in the others their functions and their switches.
var mixedParts = []string{"desk", "desk calls", "desk switches"}

// blendPaces says how many times as fast as captured the processes of each blended load are.
// The captures are of an emulated PC, which takes longer for everything: the times of the
// model were divided as well (see slowness in internal/learn). A machine that has to keep up
// with the clock on the wall, and does what guests want beside, has less to do.
var blendPaces = map[string]uint32{mixedLoad: 3, besideLoad: 1}

// ownDrivers are modules with a driver that this machine loads on request. Ways through
// them are left out of the blended load.
var ownDrivers = []string{"virtio_blk"}

// elsewhere are functions that run in a softirq, or with interrupts or preemption disabled.
// The code of trails knows no such state, so ways through them are left out of the blended
// load. That of a vfork is left out because captures show its function under another name.
var elsewhere = []string{
	"handle_softirqs", "__send_signal_locked", "do_notify_parent", "__es_insert_extent", "__es_remove_extent", "__do_sys_vfork",
}

// load finds or makes the load with that name.
func (tr *Trails) load(name string) (*Load, error) {
	if blendPaces[name] > 0 {
		return tr.blend(name, mixedParts)
	}
	at := slices.IndexFunc(tr.Loads, func(l Load) bool { return l.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("workload: no load %q", name)
	}
	return &tr.Loads[at], nil
}

// blend makes a load whose processes do what the processes of all these loads do. The n-th
// process with a name in one load is taken for the n-th with this name in the others. The
// last load says when they sleep. Of kernel threads only those of the
// file system are taken: the model has others of its own.
func (tr *Trails) blend(name string, parts []string) (*Load, error) {
	type person struct {
		comm string
		nth  int
	}
	made := &Load{Name: name}
	lives := map[person][]*TrailLife{}
	var order []person
	for _, part := range parts {
		l, err := tr.load(part)
		if err != nil {
			return nil, err
		}
		made.Span = max(made.Span, l.Span)
		seen := map[string]int{}
		for i := range l.Lives {
			life := &l.Lives[i]
			if life.Kernel && !strings.HasPrefix(life.Comm, "jbd2/") {
				continue
			}
			p := person{life.Comm, seen[life.Comm]}
			seen[life.Comm]++
			if lives[p] == nil {
				order = append(order, p)
			}
			lives[p] = append(lives[p], life)
		}
	}
	tr.number()
	called := map[string]bool{}
	for i := range tr.Paths {
		if p := &tr.Paths[i]; p.End == CallEnd {
			called[wayOf(p.Sites)] = true
		}
	}
	drivers := tr.through(ownDrivers)
	pace := blendPaces[name]
	for _, p := range order {
		made.Lives = append(made.Lives, tr.merge(lives[p], called, drivers, pace))
	}
	made.Span /= uint64(pace)
	slices.SortStableFunc(made.Lives, func(a, b TrailLife) int { return cmp.Compare(a.Start, b.Start) })
	return made, nil
}

// through says of each path whether it has a function of one of the modules, or of
// elsewhere.
func (tr *Trails) through(modules []string) []bool {
	functions := slices.Clone(elsewhere)
	for _, m := range tr.Modules {
		if slices.Contains(modules, m.Name) {
			functions = append(functions, m.Functions...)
		}
	}
	paths := make([]bool, len(tr.Paths))
	for i := range tr.Paths {
		paths[i] = slices.ContainsFunc(tr.Paths[i].Sites, func(s int32) bool {
			return slices.Contains(functions, tr.Names[tr.Sites[s].Func])
		})
	}
	return paths
}

// wayOf makes a key of sites.
func wayOf(sites []int32) string {
	b := make([]byte, 0, 2*len(sites))
	for _, s := range sites {
		b = append(b, byte(s), byte(s>>8))
	}
	return string(b)
}

// passed counts how often the process of a life comes to the functions in which paths of
// called end, on its way to something else.
func (tr *Trails) passed(life *TrailLife, called map[string]bool, times map[string]int) {
	for _, stay := range life.Stay {
		var open []int32
		for _, at := range tr.Stays[stay] {
			sites := tr.Paths[at].Sites
			if tr.Paths[at].End == CallEnd {
				continue
			}
			n := 0
			for n < len(open) && n < len(sites) && open[n] == sites[n] {
				n++
			}
			for ; n < len(sites); n++ {
				if way := wayOf(sites[:n+1]); called[way] {
					times[way]++
				}
			}
			open = sites
		}
	}
}

// covered reports whether all functions that a stay calls have been counted in times, and
// takes them out if so.
func (tr *Trails) covered(stay int32, times map[string]int) bool {
	paths := tr.Stays[stay]
	for i, at := range paths {
		if way := wayOf(tr.Paths[at].Sites); tr.Paths[at].End == CallEnd && times[way] > 0 {
			times[way]--
			continue
		}
		for _, at := range paths[:i] {
			times[wayOf(tr.Paths[at].Sites)]++
		}
		return false
	}
	return true
}

// longestStay is how many paths a stay has at most that was joined from several.
const longestStay = 400

// joined makes a life from one of the captures in which a stay is a whole system call as
// far as can be told. In the capture, a system call that took long was cut into several
// stays. They belong together as long as they have a part of the way in common and no path
// comes a second time, as the first one of every system call does. Paths of without are
// left out.
func (tr *Trails) joined(life *TrailLife, without []bool) TrailLife {
	made := TrailLife{Comm: life.Comm, Kernel: life.Kernel, Start: life.Start}
	for i, stay := range life.Stay {
		paths := tr.Stays[stay]
		if slices.ContainsFunc(paths, func(p int32) bool { return without[p] }) {
			paths = slices.DeleteFunc(slices.Clone(paths), func(p int32) bool { return without[p] })
			if len(paths) == 0 {
				continue
			}
			stay = int32(len(tr.Stays))
			tr.Stays = append(tr.Stays, paths)
		}
		if n := len(made.Stay) - 1; n >= 0 {
			before := tr.Stays[made.Stay[n]]
			if tr.continues(before, paths) {
				tr.Stays = append(tr.Stays, slices.Concat(before, paths))
				made.Stay[n] = int32(len(tr.Stays) - 1)
				made.Away[n] = life.Away[i]
				continue
			}
		}
		made.Stay = append(made.Stay, stay)
		made.Busy = append(made.Busy, life.Busy[i])
		made.Away = append(made.Away, life.Away[i])
	}
	return made
}

// continues reports whether the paths of b can belong to the same stay as those of a.
func (tr *Trails) continues(a, b []int32) bool {
	last, first := &tr.Paths[a[len(a)-1]], &tr.Paths[b[0]]
	if last.End == SwitchEnd || first.End != AllocEnd || last.NR < 0 || last.NR != first.NR || len(a)+len(b) > longestStay {
		return false
	}
	n := 0
	for n < len(last.Sites) && n < len(first.Sites) && last.Sites[n] == first.Sites[n] {
		n++
	}
	switch last.NR {
	case sysClone:
		return n > 3 && !slices.Contains(b, a[0])
	case sysExecve:
		return !slices.ContainsFunc(b, tr.names)
	case sysExitGroup:
		return true
	}
	return n > 3 && !slices.ContainsFunc(b, func(p int32) bool { return slices.Contains(a, p) })
}

// names reports whether a path is that of an execve to the name of the program, which it takes
// first.
func (tr *Trails) names(path int32) bool {
	sites := tr.Paths[path].Sites
	return len(sites) > 3 && strings.HasPrefix(tr.Names[tr.Sites[sites[3]].Func], "getname")
}

// merge makes one life of several. A stay comes after the same part of the computing time
// as in its own life. The last of the lives says how long this time is, when it begins and
// when the process is away. A stay in which functions are called is left out if the process
// comes to them on its way to an allocation or a switch: that is another record of the same
// call. The life that is made is pace times as fast.
func (tr *Trails) merge(lives []*TrailLife, called map[string]bool, without []bool, pace uint32) TrailLife {
	main := lives[len(lives)-1]
	var events []visit
	var total uint64
	times := map[string]int{}
	whole := make([]TrailLife, len(lives))
	for i, life := range lives {
		whole[i] = tr.joined(life, without)
		tr.passed(&whole[i], called, times)
	}
	for i := range whole {
		life := &whole[i]
		total = 1
		for _, b := range life.Busy {
			total += uint64(b)
		}
		at := uint64(0)
		for j, stay := range life.Stay {
			at += uint64(life.Busy[j])
			if tr.covered(stay, times) {
				continue
			}
			e := visit{at: float64(at) / float64(total), stay: stay, last: i == len(lives)-1}
			if paths := tr.Stays[stay]; tr.Paths[paths[len(paths)-1]].End == SwitchEnd {
				e.dies = endOf(int64(tr.Paths[paths[len(paths)-1]].Arg)) == dies
			}
			if e.last {
				e.away = life.Away[j]
			}
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b visit) int {
		if a.dies != b.dies {
			return map[bool]int{true: 1, false: -1}[a.dies]
		}
		return cmp.Compare(a.at, b.at)
	})
	events = tr.gather(events)
	made := TrailLife{Comm: main.Comm, Kernel: main.Kernel, Start: main.Start / uint64(pace)}
	at := 0.0
	for _, e := range events {
		made.Stay = append(made.Stay, e.stay)
		made.Busy = append(made.Busy, uint32(max(e.at-at, 0)*float64(total/uint64(pace))))
		made.Away = append(made.Away, e.away/pace)
		at = max(at, e.at)
	}
	return made
}
