// Package vmlinux unpacks the kernel of a distribution's package, from which facts are read.
package vmlinux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// Offsets in the header of an x86 kernel image.
//
// Kernel: Documentation/arch/x86/boot.rst.
const (
	setupSects    = 0x1f1 // how many sectors the real-mode code has, without the first one
	headerMagic   = 0x202 // "HdrS"
	payloadOffset = 0x248 // where the packed vmlinux begins, from the protected-mode code on
	payloadLength = 0x24c // its length, including the four bytes of its unpacked size behind it
	headerEnd     = 0x250
)

// maxVmlinux is the largest size to which an image may unpack.
const maxVmlinux = 1 << 29

// Kernel gives the ELF file in the kernel image (vmlinuz) of a package that was unpacked
// into dir. The image is one for x86 and packed with zstd.
func Kernel(dir string) ([]byte, error) {
	path, err := one(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil {
		return nil, err
	}
	image, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	packed, err := payload(image)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	z, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	vmlinux, err := io.ReadAll(io.LimitReader(z, maxVmlinux))
	if err != nil {
		return nil, fmt.Errorf("%s: the packed kernel: %w", path, err)
	}
	return vmlinux, nil
}

// Module gives the ELF file of a module of that package. The module is packed with xz.
func Module(dir, name string) ([]byte, error) {
	var found []string
	modules := filepath.Join(dir, "lib", "modules")
	err := filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name+".ko.xz" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: %d files %s.ko.xz, want one", modules, len(found), name)
	}
	path := found[0]
	module, err := exec.Command("xz", "-dc", path).Output()
	if err != nil {
		return nil, fmt.Errorf("xz -dc %s: %w", path, err)
	}
	return module, nil
}

// payload gives the packed vmlinux in an image, without the size behind it.
func payload(image []byte) ([]byte, error) {
	if len(image) < headerEnd || string(image[headerMagic:headerMagic+4]) != "HdrS" {
		return nil, fmt.Errorf("no x86 kernel image")
	}
	word := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(image[at:])) }
	start := (uint64(image[setupSects])+1)*512 + word(payloadOffset)
	end := start + word(payloadLength)
	if end > uint64(len(image)) || end < start+4 {
		return nil, fmt.Errorf("the packed kernel is from byte %d to %d of %d", start, end, len(image))
	}
	return image[start : end-4], nil
}

// one gives the file that a pattern matches. There must be exactly one.
func one(pattern string) (string, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%s: %d files, want one", pattern, len(names))
	}
	return names[0], nil
}
