package tracefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
)

// Error is an errno with its reason. The reason is for people: clients see the
// errno only, as a kernel's do.
type Error struct {
	Code   syscall.Errno
	Reason string
}

// Errorf is an error that says why and carries errno.
func Errorf(errno syscall.Errno, format string, args ...any) error {
	return &Error{Code: errno, Reason: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Reason + ": " + Strerror(e.Code) }

// Unwrap returns the errno.
func (e *Error) Unwrap() error { return e.Code }

// Errno is the errno an error carries: what a system call would return. Nil is
// 0, a done context EINTR, and an error that carries none is EIO: a bug of the
// file that gave it, for a test to find.
func Errno(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return syscall.EINTR
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return syscall.EPERM
	case errors.Is(err, fs.ErrInvalid):
		return syscall.EINVAL
	}
	return syscall.EIO
}

// strerrors are the texts a C library on Linux prints; those of package syscall
// differ from port to port.
func strerrors() []struct {
	errno syscall.Errno
	text  string
} {
	return []struct {
		errno syscall.Errno
		text  string
	}{
		{syscall.EPERM, "Operation not permitted"},
		{syscall.ENOENT, "No such file or directory"},
		{syscall.ESRCH, "No such process"},
		{syscall.EINTR, "Interrupted system call"},
		{syscall.EIO, "Input/output error"},
		{syscall.ENXIO, "No such device or address"},
		{syscall.E2BIG, "Argument list too long"},
		{syscall.EBADF, "Bad file descriptor"},
		{syscall.EAGAIN, "Resource temporarily unavailable"},
		{syscall.ENOMEM, "Cannot allocate memory"},
		{syscall.EACCES, "Permission denied"},
		{syscall.EFAULT, "Bad address"},
		{syscall.EBUSY, "Device or resource busy"},
		{syscall.EEXIST, "File exists"},
		{syscall.ENODEV, "No such device"},
		{syscall.ENOTDIR, "Not a directory"},
		{syscall.EISDIR, "Is a directory"},
		{syscall.EINVAL, "Invalid argument"},
		{syscall.ENOSPC, "No space left on device"},
		{syscall.ESPIPE, "Illegal seek"},
		{syscall.EROFS, "Read-only file system"},
		{syscall.EPIPE, "Broken pipe"},
		{syscall.ERANGE, "Numerical result out of range"},
		{syscall.ENAMETOOLONG, "File name too long"},
		{syscall.ENOSYS, "Function not implemented"},
		{syscall.ENOTEMPTY, "Directory not empty"},
		{syscall.EOVERFLOW, "Value too large for defined data type"},
		{syscall.EILSEQ, "Invalid or incomplete multibyte or wide character"},
		{syscall.EOPNOTSUPP, "Operation not supported"},
		{syscall.ECANCELED, "Operation canceled"},
	}
}

// Strerror is the text of an errno as Linux programs print it, on every port.
func Strerror(errno syscall.Errno) string {
	for _, e := range strerrors() {
		if e.errno == errno {
			return e.text
		}
	}
	return "Unknown error " + strconv.Itoa(int(errno))
}

func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }
