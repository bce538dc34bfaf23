package main

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// hasAttributes reports whether a file has attributes besides mode and owner, such as
// an access list or what a user has given it. The label that a security policy gives to
// every file does not count.
func hasAttributes(path string) bool {
	n, err := unix.Listxattr(path, nil)
	if err != nil || n == 0 {
		return false
	}
	names := make([]byte, n)
	if n, err = unix.Listxattr(path, names); err != nil {
		return true // they have changed just now
	}
	return slices.ContainsFunc(bytes.Split(names[:n], []byte{0}), func(name []byte) bool {
		return len(name) > 0 && string(name) != "security.selinux"
	})
}
