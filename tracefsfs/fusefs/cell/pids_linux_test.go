package cell

import (
	"os"
	"testing"
)

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"6.14.0": true, "6.14-rc1": true, "7.0": true, "10.2.1-generic": true, "6.13.9": false, "6.1.0-48-amd64": false, "5.15": false, "": false, "x": false,
	} {
		if got := atLeast(release, 6, 14); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}

// The numbers of processes are within what the functions say.
func TestPIDs(t *testing.T) {
	for name, pids := range map[string]func() (int, int, error){"of a cell": PIDs, "of this computer": HostPIDs} {
		first, limit, err := pids()
		if err != nil {
			t.Fatal(err)
		}
		if first < 1 || first > reserved || limit <= firstPID {
			t.Errorf("the numbers %s are %d to %d", name, first, limit)
		}
	}
	if first, limit, _ := HostPIDs(); os.Getpid() < first || os.Getpid() >= limit {
		t.Errorf("%d is not of %d to %d", os.Getpid(), first, limit)
	}
}
