package workload

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"ftracelab/machine"
)

// Config says how much the learned workload has to do.
type Config struct {
	Shells  int          // how many shells start processes
	Pause   machine.Time // mean pause of a shell between two rounds, in ns
	Rest    machine.Time // mean pause of a shell before it starts another command in a round, in ns
	Daemon  machine.Time // mean sleep of a process that does little, in ns; 0: there is no such process
	Compute machine.Time // mean time in user space between two stays in the kernel, in ns
	Loads   []string     // the loads whose trails processes follow
	Calm    machine.Time // the factor by which kernel threads sleep longer; 0 means 1
	// Lively is how long after the start the shells, the daemon and the kernel threads do not
	// go by the times above, but by shorter ones.
	Lively machine.Time
	// Quiet says that there are no errors on the link of the port, as on the machines of the
	// captures.
	Quiet bool
	// Balance is that of machine.Kernel.
	Balance bool
}

// liveliness has the times that hold as long as Config.Lively says. They are those of a
// machine on which nothing else runs.
var liveliness = Config{Pause: 4 * machine.Millisecond, Compute: 3 * machine.Millisecond, Daemon: 5 * machine.Millisecond}

// pace gives the times by which shells, the daemon and kernel threads go at present.
func (w *mix) pace() *Config {
	if w.m.Now() < w.began+w.cfg.Lively {
		return &liveliness
	}
	return &w.cfg
}

// maxTasks is how many processes can be alive at a time. Further forks fail.
const maxTasks = 400

// mix runs the learned model. It implements machine.Workload.
type mix struct {
	m     *machine.Machine
	model *Model
	cfg   Config
	began machine.Time
	rng   *rand.Rand

	codes    map[string][]choice // the code to choose from, by the reason to run
	idle     [2][]machine.Code   // the idle loops of CPU 0, and of the others
	device   machine.Code
	switches switches
	roots    []int // the scripts of processes that existed before the capture
	tasks    []*machine.Task
	followed followed
	blendAt  machine.Time // when the blended load begins
	loads    []*trailing
	calls    map[int64][]*ScriptStay   // of all scripts, by number
	sleepers map[int32][]*machine.Task // kernel threads by wake-up class
	ticks    []machine.Time            // when each CPU's next tick is due
	images   map[string]*image
	disk     *disk // nil: its driver is not loaded
	port     port
	actors   map[int32]*actor // by wake-up class
	pulls    *pulls           // nil until a CPU pulls a task from another one
	learned  []machine.Code   // of all activities, by template; nil until the first one begins
}

// choice is a template with its weight. Its code is made when it first runs.
type choice struct {
	code   func() machine.Code
	weight int
}

// only is the choice of code that there is already.
func only(code machine.Code) []choice {
	return []choice{{func() machine.Code { return code }, 1}}
}

// person is a task that knows by itself what its forks, execs and exits do, and which
// process its end wakes.
type person interface {
	event(c *machine.CPU, t *machine.Task, e machine.Event)
	wakee() *machine.Task
}

// Start boots m with the learned kernel and cfg's tasks.
func Start(m *machine.Machine, cfg Config) error {
	model, err := LoadModel()
	if err != nil {
		return err
	}
	w := &mix{
		m: m, model: model, cfg: cfg, began: m.Now(), rng: m.Rand("workload"), codes: map[string][]choice{},
		sleepers: map[int32][]*machine.Task{}, images: map[string]*image{}, actors: map[int32]*actor{},
		ticks: make([]machine.Time, len(m.CPUs())),
	}
	kernel, err := w.kernel()
	if err != nil {
		return err
	}
	loads, err := w.follows(&kernel, cfg.Loads)
	if err != nil {
		return err
	}
	m.Boot(kernel)
	if !loads.blended {
		if w.loads, err = w.trails(loads); err != nil {
			return err
		}
	}
	w.kthreads(slices.ContainsFunc(w.loads, func(tg *trailing) bool { return tg.load.Threads }))
	w.shells()
	w.daemons()
	w.startTrails(loads)
	for _, c := range m.CPUs() {
		w.startTick(c)
	}
	w.nextDevice(m.CPUs()[0])
	if err := w.startPort(); err != nil {
		return err
	}
	return w.offerActivities()
}

// kernel makes the machine's kernel from the tables of the model.
func (w *mix) kernel() (machine.Kernel, error) {
	k := machine.Kernel{
		Sites: w.model.Sites, Slabs: w.model.Slabs, Values: w.model.vals, Workload: w, Load: w.begin, Happenings: inside(),
		Points: make(map[machine.Point]uint64, len(w.model.Points)), Patience: machine.Millisecond, Balance: w.cfg.Balance,
		Pace: &stalling,
	}
	for _, p := range w.model.Points {
		k.Points[p.Point] = p.Addr
	}
	for i := range w.model.Templates {
		filed := w.model.Templates[i].filed()
		w.codes[filed] = append(w.codes[filed], choice{func() machine.Code { return w.model.code(i) }, w.model.Templates[i].Weight})
	}
	w.exits()
	w.idle = [2][]machine.Code{idleLoops(w.model, "idle0"), idleLoops(w.model, "idle")}
	device, sites, err := deviceInterrupt(w.m.Kallsyms(), k.Sites)
	asleep, sites := sleepingStacks(w.m.Kallsyms(), sites)
	w.fillSwitches(asleep)
	w.device, k.Sites = device, sites
	k.Values.Assign(w.device, k.Sites)
	for i := range w.model.Scripts {
		if s := &w.model.Scripts[i]; s.Born < 0 && !s.Kernel {
			w.roots = append(w.roots, i)
		}
	}
	return k, err
}

// pick returns one of the codes for a reason, by their weights; nil if there is none.
func (w *mix) pick(key string) machine.Code { return pick(w.rng, w.codes[key]) }

func pick(rng *rand.Rand, list []choice) machine.Code {
	total := 0
	for _, c := range list {
		total += c.weight
	}
	if total == 0 {
		return nil
	}
	n := rng.IntN(total)
	for _, c := range list {
		if n -= c.weight; n < 0 {
			return c.code()
		}
	}
	return nil
}

// sleeps gives the reason under which the code of a sleeping system call is filed.
func sleeps(nr int64) string { return fmt.Sprintf("sys %d sleeps", nr) }

// compute draws a time in user space: mostly short, seldom long, on average mean.
func (w *mix) compute(mean machine.Time) machine.Time {
	if w.rng.IntN(8) == 0 {
		return w.around(5 * mean / 2)
	}
	return w.around(11*mean/14 + 1)
}

// around draws a time between half of mean and one and a half times mean.
func (w *mix) around(mean machine.Time) machine.Time {
	return mean/2 + machine.Time(w.rng.Uint64N(uint64(mean)+1))
}

// Next implements machine.Workload.
func (w *mix) Next(c *machine.CPU, t *machine.Task) machine.Stay {
	if w.m.Now() >= w.blendAt {
		w.blend()
	}
	if t == c.Idle() {
		loops := w.idle[min(c.ID, 1)]
		return machine.Stay{Kind: machine.KernelWork, Code: loops[w.rng.IntN(len(loops))]}
	}
	w.ensureTick(c)
	switch d := t.Data.(type) {
	case *kthread:
		return w.nextWork(d)
	case *daemon:
		return w.nextRound(t, d)
	case *life:
		return w.nextStay(t, d)
	case *trail:
		return w.nextTrail(c, t, d)
	case *guest:
		return w.nextGuest(t, d)
	}
	return machine.Stay{Kind: machine.KernelWork, After: machine.Second}
}

// Preempt implements machine.Workload.
func (w *mix) Preempt(_ *machine.CPU, t *machine.Task) machine.Code {
	if d, ok := t.Data.(*trail); t.Kernel || ok && len(d.late) > 0 {
		return nil // a trail has a place of its own where it gives the CPU away
	}
	return w.pick("preempt")
}

// Event implements machine.Workload.
func (w *mix) Event(c *machine.CPU, t *machine.Task, e machine.Event, _ int32) {
	if g, ok := t.Data.(*guest); ok {
		w.guestEvent(c, g, e)
		return
	}
	if p, ok := t.Data.(person); ok {
		p.event(c, t, e)
		return
	}
	if d, ok := t.Data.(*trail); ok {
		d.event(c, t, e)
		return
	}
	d, ok := t.Data.(*life)
	if !ok {
		return
	}
	switch e {
	case machine.EvSchedFork:
		w.fork(c, t, d)
	case machine.EvSchedExec:
		if d.stay != nil && d.stay.Exec != "" {
			c.Exec(d.stay.Exec, d.stay.Path)
		}
	case machine.EvSchedExit:
		d.dead = true
		reap(t)
		w.tasks = slices.DeleteFunc(w.tasks, func(o *machine.Task) bool { return o == t })
	}
}

// Wake-up classes: the same numbers as in internal/learn, which learned the model.
const (
	wakeRCU = 1 + iota
	wakeUnboundWorker
	wakeWorker
	wakeSoftIRQ
	wakeMigration
	wakeCompact
	wakeUser
	wakeParent // a process that waits for a child
	wakeGuest  // a guest that waits for what its process does next
	wakeDisk   // a process that waits for a block device
	wakePort   // the thread that handles the port's interrupts
)

// Wakee implements machine.Workload.
func (w *mix) Wakee(c *machine.CPU, class int32) *machine.Task {
	if class >= WakeNobody {
		return w.wakeActor(class)
	}
	switch class {
	case wakeDisk:
		return w.disk.wakee()
	case wakePort:
		return w.port.thread
	}
	if class != wakeUser {
		for _, t := range w.sleepers[class] {
			if _, asleep := t.Sleeping(); asleep && !w.rests(t, class) && (class == wakeRCU || class == wakeUnboundWorker || class == wakeCompact || t.CPU() == c) {
				return t
			}
		}
		return nil
	}
	if g, ok := c.Current.Data.(*guest); ok && !c.InHardIRQ && !c.InSoftIRQ {
		return g.parentOf()
	}
	if p, ok := c.Current.Data.(person); ok && !c.InHardIRQ && !c.InSoftIRQ {
		return p.wakee()
	}
	cur, ok := c.Current.Data.(*life)
	if !ok || c.InHardIRQ || c.InSoftIRQ {
		return nil
	}
	if cur.dead {
		if p := c.Current.Parent; p != nil {
			if wt, asleep := p.Sleeping(); asleep && wt.Class == wakeParent {
				return p
			}
		}
		return nil
	}
	for _, t := range w.tasks {
		if wt, asleep := t.Sleeping(); asleep && wt.Class == wakeUser && t.Data.(*life).session == cur.session {
			return t
		}
	}
	return nil
}

// sortedKeys gives the keys of a map in a fixed order, because the order of a map must
// not show.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
