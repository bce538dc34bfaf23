package workload

import (
	"math"
	"slices"
)

// visit is a stay of a life that is made of several.
type visit struct {
	at     float64 // the part of the life's computing time before it
	stay   int32
	away   uint32
	last   bool // it is of the last one of the lives
	dies   bool
	sleeps int // how often the process sleeps in it
	taken  bool
}

// jumped are functions to which system calls jump. A stack does not show where they come
// from.
var jumped = map[string]int32{"ksys_mmap_pgoff": sysMmap, "vm_mmap_pgoff": sysMmap, "do_faccessat": sysAccess, "do_sys_ftruncate": sysFtruncate}

// number gives a number to the system calls whose stacks do not show it, if there is only
// one that comes to their functions.
func (tr *Trails) number() {
	tr.Paths = slices.Clone(tr.Paths)
	for i := range tr.Paths {
		if p := &tr.Paths[i]; p.NR < 0 && len(p.Sites) > 2 && tr.Names[tr.Sites[p.Sites[1]].Func] == "do_syscall_64" {
			if nr, ok := jumped[tr.Names[tr.Sites[p.Sites[2]].Func]]; ok {
				p.NR = nr
			}
		}
	}
}

// nearby is how far apart two records of one system call may be, as a part of the life's
// computing time: the processes of the captures did the same, but not at the same times.
const nearby = 0.1

// gather puts together what several captures show of one system call: one of them where it
// allocates, another one which functions it calls, and the third one where it sleeps.
func (tr *Trails) gather(visits []visit) []visit {
	for i := range visits {
		v := &visits[i]
		p := tr.lastPath(v.stay)
		if p.End == SwitchEnd && endOf(int64(p.Arg)) == sleepsNow {
			v.sleeps = 1
		}
	}
	for i := range visits {
		v := &visits[i]
		p := tr.lastPath(v.stay)
		switch {
		case p.NR < 0 || v.dies || p.End == SwitchEnd && v.sleeps == 0:
			continue
		case p.End == AllocEnd && p.NR != sysExitGroup:
			continue
		}
		if o := tr.other(visits, i); o >= 0 {
			to := &visits[o]
			tr.Stays = append(tr.Stays, tr.together(tr.Stays[to.stay], tr.Stays[v.stay]))
			to.stay = int32(len(tr.Stays) - 1)
			to.away, to.sleeps, v.taken = to.away+v.away, to.sleeps+v.sleeps, true
		}
	}
	for i := range visits {
		if v := &visits[i]; v.sleeps > 1 {
			v.away /= uint32(v.sleeps)
		}
	}
	return slices.DeleteFunc(visits, func(v visit) bool { return v.taken })
}

func (tr *Trails) lastPath(stay int32) *TrailPath {
	paths := tr.Stays[stay]
	return &tr.Paths[paths[len(paths)-1]]
}

// other finds the visit that is of the same system call as visits[i]; -1: there is none.
func (tr *Trails) other(visits []visit, i int) int {
	v := &visits[i]
	nr := tr.lastPath(v.stay).NR
	best, off := -1, nearby
	if nr == sysExecve || nr == sysExitGroup {
		off = math.Inf(1)
	}
	for j := range visits {
		o := &visits[j]
		p := tr.lastPath(o.stay)
		if j == i || o.taken || p.NR != nr || p.End == SwitchEnd && !o.dies && o.sleeps == 0 {
			continue
		}
		if nr == sysExitGroup && !o.dies || nr != sysExitGroup && !tr.allocates(o.stay) {
			continue
		}
		if d := math.Abs(o.at - v.at); d < off && tr.fits(tr.Stays[o.stay], tr.Stays[v.stay], nr) && len(tr.Stays[o.stay])+len(tr.Stays[v.stay]) <= longestStay {
			best, off = j, d
		}
	}
	return best
}

func (tr *Trails) allocates(stay int32) bool {
	return slices.ContainsFunc(tr.Stays[stay], func(p int32) bool { return tr.Paths[p].End == AllocEnd })
}

// fits reports whether the paths of b may be of the same system call as those of a: they have
// some of the way in common, and none of them is there already.
func (tr *Trails) fits(a, b []int32, nr int32) bool {
	if nr == sysExitGroup {
		return true
	}
	if nr != sysExecve && slices.ContainsFunc(b, func(p int32) bool { return slices.Contains(a, p) }) {
		return false
	}
	_, n := tr.place(a, b[0])
	return n > 3 && !slices.ContainsFunc(b, func(p int32) bool {
		sites := tr.Paths[p].Sites
		return len(sites) > 3 && tr.Names[tr.Sites[sites[3]].Func] == "vfs_fstat" // it is given no name, and allocates none
	})
}

// place finds where among paths p belongs: behind the first ones with which it has the most of
// its way in common. n is how many functions that are.
func (tr *Trails) place(paths []int32, p int32) (at, n int) {
	for i, q := range paths {
		if m := tr.common(q, p); m > n {
			at, n = i+1, m
			for at < len(paths) && tr.common(paths[at-1], paths[at]) > n {
				at++
			}
		}
	}
	return at, n
}

// common is how many functions two paths have in common.
func (tr *Trails) common(a, b int32) (n int) {
	p, q := tr.Paths[a].Sites, tr.Paths[b].Sites
	for n < len(p) && n < len(q) && p[n] == q[n] {
		n++
	}
	return n
}

// together gives the paths of both stays. A function in which a path of b ends is not called
// anew if a comes through it.
func (tr *Trails) together(a, b []int32) []int32 {
	made, end := slices.Clone(a), 0
	if p := &tr.Paths[a[len(a)-1]]; p.End == SwitchEnd && endOf(int64(p.Arg)) == dies {
		end = 1 // nothing comes behind it
	}
	for _, p := range b {
		at, n := tr.place(made, p)
		at = min(at, len(made)-end)
		if tr.Paths[p].End == CallEnd && n == len(tr.Paths[p].Sites) {
			continue
		}
		made = slices.Insert(made, at, p)
	}
	return made
}
