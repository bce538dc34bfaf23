package unwind

import (
	"fmt"
	"slices"
	"strings"

	"ftracelab/unwind/cookie"
	"ftracelab/unwind/user"
)

// Config says how a kernel unwinds user stacks later: the revisions differ, and so do the
// machines. The zero value, but for CPUs, is Linux 6.17 on a 64-bit x86, except that ExecLate
// is a fault of Linux.
type Config struct {
	CPUs int

	// WalkCompat walks the stacks of 32-bit programs on a 64-bit machine, as Linux 6.19
	// does. Without it their requests are refused.
	//
	// Kernel: arch_unwind_can_defer, until 6.18.
	WalkCompat bool

	// Word32 is a 32-bit machine: a mask has 32 bits, and a word of the stack 4 bytes.
	Word32 bool

	// NoNMI is an architecture on which cmpxchg must not be used in an NMI. There
	// RequestNMI is refused, and a cookie is made with plain stores.
	//
	// Kernel: UNWIND_NMI_SAFE, kernel/unwind/deferred.c (CONFIG_ARCH_HAVE_NMI_SAFE_CMPXCHG).
	NoNMI bool

	// Cookies is how a cookie is made of a CPU and a count.
	Cookies cookie.Layout

	// Methods are how the stacks of 64-bit programs are walked, see [user.Walker].
	Methods []user.Method

	// ExecLate walks the stack of a stay in which the task begins another program at the end
	// of that stay, as Linux does: also the events from before get the stack with which the
	// new program begins. Without it, the old program's stack is walked before it is gone,
	// and what happens afterwards has another cookie.
	ExecLate bool

	// Cache512 has room for 512 addresses, as the revisions until the spring of 2025 had,
	// and not for those that fit into a page with their header.
	Cache512 bool
}

// MaxEntries is the greatest depth of a stack.
//
// Kernel: UNWIND_MAX_ENTRIES, kernel/unwind/deferred.c: what a page holds behind the word of
// completed works and the number of entries.
func (c Config) MaxEntries() int {
	const page = 4096
	switch {
	case c.Cache512:
		return 512
	case c.Word32:
		return (page - 2*4) / 4
	}
	return (page - 2*8) / 8
}

// MaxWorks is how many tracers can use deferred stacks at once: a bit of the mask each, but
// for the reserved ones.
func (c Config) MaxWorks() int {
	if c.Word32 {
		return 32 - 2
	}
	return 64 - 2
}

// walker is how the stacks of 64-bit programs are walked, and on a 32-bit machine all.
func (c Config) walker() user.Walker {
	if c.Word32 {
		return compatWalker
	}
	return user.Walker{Methods: c.Methods}
}

var compatWalker = user.Walker{Arch: user.I386}

// point is a place at which an NMI can arrive, or another CPU can be faster.
type point uint8

const (
	pointCookieChecked point = iota // the task has no cookie yet
	pointCountChosen                // the count is in the task, not yet in the CPU
	pointCounted                    // the CPU's count has moved on; the cookie has no CPU yet
	pointMaskRead                   // the work's bit was not set
	pointMaskSet                    // the bit is set now; the walk is not queued yet
	pointTaken                      // of process: the walk is not pending any more
	pointWalked                     // of process: the cache has the stack
	pointCall                       // of process: a work is called next
	pointCalled                     // of process: it has been called, and does not count as served
	pointUnqueued                   // of return: nothing is queued
	pointLeaving                    // of return: from here on requests are refused
	pointMaskReset                  // of return: the mask is 0, there still is a cookie
	pointReset                      // of return: all is reset
	pointExiting                    // of exit: requests are refused
	pointFreed                      // of exit: nothing is kept any more
	numPoints
)

func (p point) String() string {
	if p < numPoints {
		return [...]string{
			"cookie checked", "count chosen", "counted", "mask read", "mask set", "taken", "walked", "call", "called",
			"unqueued", "leaving", "mask reset", "reset", "exiting", "freed",
		}[p]
	}
	return fmt.Sprintf("point %d", uint8(p))
}

func (d *Deferred) pass(p point) {
	if d.at != nil {
		d.at(p)
	}
}

// choices are the words of [ParseConfig]. Of each key the first value is the default.
var choices = []struct {
	key    string
	values [2]string
	set    func(c *Config, second bool)
}{
	{"compat", [2]string{"refuse", "walk"}, func(c *Config, second bool) { c.WalkCompat = second }},
	{"nmi", [2]string{"ask", "refuse"}, func(c *Config, second bool) { c.NoNMI = second }},
	{"cookies", [2]string{"counted", "january"}, func(c *Config, second bool) {
		c.Cookies = cookie.Counted
		if second {
			c.Cookies = cookie.January2025
		}
	}},
	{"exec", [2]string{"walk", "late"}, func(c *Config, second bool) { c.ExecLate = second }},
	{"cache", [2]string{"page", "512"}, func(c *Config, second bool) { c.Cache512 = second }},
}

// ParseConfig reads what differs from Linux 6.17, as KEY=VALUE,…:
//
//	compat=refuse|walk  nmi=ask|refuse  cookies=counted|january  exec=walk|late  cache=page|512
//
// A machine of 32 bits is not among them, since the programs of the simulated machine have
// 64 bits. CPUs is 0.
func ParseConfig(text string) (Config, error) {
	var c Config
	if text == "" {
		return c, nil
	}
next:
	for word := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(word, "=")
		for _, ch := range choices {
			if ch.key != key {
				continue
			}
			n := slices.Index(ch.values[:], value)
			if n < 0 {
				return Config{}, fmt.Errorf("unwind: %q: want %s=%s or %s=%s", word, key, ch.values[0], key, ch.values[1])
			}
			ch.set(&c, n == 1)
			continue next
		}
		return Config{}, fmt.Errorf("unwind: %q: want compat=, nmi=, cookies=, exec= or cache=", word)
	}
	return c, nil
}
