package main

import (
	"fmt"
	"os"
)

// openRegular opens a file that has to be read at any place: a FIFO would be waited
// for, and a device may have no end.
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
