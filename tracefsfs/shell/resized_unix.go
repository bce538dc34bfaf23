//go:build unix

package shell

import (
	"os"
	"os/signal"
	"syscall"
)

// Resized is of Screen.
func (fileScreen) Resized(tell func()) (stop func()) {
	changed, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-changed:
				tell()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
	}
}
