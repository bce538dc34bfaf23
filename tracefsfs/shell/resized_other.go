//go:build !unix

package shell

// Resized is of Screen. Nothing tells of a new size here; the next line has it.
func (fileScreen) Resized(func()) (stop func()) { return func() {} }
