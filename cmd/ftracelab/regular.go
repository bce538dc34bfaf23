package main

import (
	"fmt"
	"os"
)

// openRegular opens a file that has to be read at arbitrary places. It refuses others:
// opening a FIFO would wait, and a device may have no end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.Open(path)
}
