package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"

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

// kernelBTF gives the section .BTF of an x86 kernel image that is packed with zstd.
func kernelBTF(path string) ([]byte, error) {
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
	return elfBTF(path, vmlinux)
}

// moduleBTF gives the section .BTF of a module that is packed with xz.
func moduleBTF(path string) ([]byte, error) {
	module, err := exec.Command("xz", "-dc", path).Output()
	if err != nil {
		return nil, fmt.Errorf("xz -dc %s: %w", path, err)
	}
	return elfBTF(path, module)
}

func elfBTF(path string, program []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	section := f.Section(".BTF")
	if section == nil {
		return nil, fmt.Errorf("%s: there is no section .BTF", path)
	}
	return section.Data()
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
