//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// onlyName reports whether a file has only the one name by which it was found.
func onlyName(f fs.FileInfo) bool {
	st, ok := f.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1
}

func sameOwner(a, b fs.FileInfo) bool {
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && x.Uid == y.Uid && x.Gid == y.Gid
}

// chownLike gives f the owner of like.
func chownLike(f *os.File, like fs.FileInfo) error {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return syscall.ENOTSUP
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
