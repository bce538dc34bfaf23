package main

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// hasAttributes says whether a file has attributes beside mode and owner: an access
// list, what a user gave it. The label that a policy gives to each file is none.
func hasAttributes(path string) bool {
	n, err := unix.Listxattr(path, nil)
	if err != nil || n == 0 {
		return false
	}
	names := make([]byte, n)
	if n, err = unix.Listxattr(path, names); err != nil {
		return true // they changed just now
	}
	return slices.ContainsFunc(bytes.Split(names[:n], []byte{0}), func(name []byte) bool {
		return len(name) > 0 && string(name) != "security.selinux"
	})
}
