//go:build !linux

package fusefs

import "time"

var began = time.Now()

// cpuTime is how long this process has run: nothing is mounted on this system.
func cpuTime() time.Duration { return time.Since(began) }
