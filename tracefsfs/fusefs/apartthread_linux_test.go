package fusefs

import (
	"os"
	"sync"
	"testing"
)

// The thread set apart is not the process's first one: what /proc/self/fd shows, by which
// this package opens FIFOs and the bridge finds names of programs, are that one's files.
func TestApartIsNotFirst(t *testing.T) {
	var wg sync.WaitGroup
	for range 64 { // more than there are threads, so that the first one's turn comes
		wg.Go(func() {
			a, err := startApart()
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(a.stop)
			if a.tid == os.Getpid() {
				t.Error("the first thread is set apart")
			}
		})
	}
	wg.Wait()
}
