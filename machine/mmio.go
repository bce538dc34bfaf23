package machine

import (
	"math/bits"
	"slices"
)

// MMIO is something that a driver does with the memory of a device.
//
// Kernel: struct mmiotrace_map and struct mmiotrace_rw, include/linux/mmiotrace.h.
type MMIO struct {
	Kind  MMIOKind
	Virt  uint64 // address in the kernel
	Phys  uint64 // for MMIOMap: address on the bus
	Len   uint64 // for MMIOMap: size in bytes
	Value uint64 // for MMIORead and MMIOWrite
	Width uint8  // for MMIORead and MMIOWrite: size in bytes
}

// MMIOKind says what a driver does. The values are those of enum mm_io_opcode.
type MMIOKind uint8

const (
	MMIORead MMIOKind = 1 + iota
	MMIOWrite
	MMIOMap
	MMIOUnmap
)

// ioSpace is the memory of devices, and where it is mapped.
type ioSpace struct {
	maps   []ioMap // sorted by address
	memory map[uint64]*[pageSize]byte
}

type ioMap struct{ virt, size, phys uint64 }

const (
	pageSize = 4096
	// vmallocBase is where mappings begin. What the kernel has mapped while it booted
	// lies before it.
	vmallocBase = 0xffffc90000800000
	maxMapOrder = 30 // IOREMAP_MAX_ORDER
)

// IORemap maps size bytes from phys on and returns their address. It is the lowest free
// address that is a multiple of size, rounded up to a power of two. The page after the
// mapping stays free.
//
// Kernel: ioremap, arch/x86/mm/ioremap.c.
func (c *CPU) IORemap(phys, size uint64) (virt uint64) {
	inPage := phys % pageSize
	need := (inPage + size + pageSize - 1) &^ (pageSize - 1)
	align := uint64(1) << min(max(bits.Len64(need-1), 12), maxMapOrder)
	s := &c.m.io
	at, addr := 0, uint64(vmallocBase)
	for {
		addr = (addr + align - 1) &^ (align - 1)
		if at == len(s.maps) || addr+need+pageSize <= s.maps[at].virt {
			break
		}
		addr = s.maps[at].virt + s.maps[at].size + pageSize
		at++
	}
	s.maps = slices.Insert(s.maps, at, ioMap{addr, need, phys - inPage})
	c.mmio(MMIO{Kind: MMIOMap, Virt: addr + inPage, Phys: phys, Len: size})
	return addr + inPage
}

// IOUnmap removes a mapping.
//
// Kernel: iounmap, arch/x86/mm/ioremap.c.
func (c *CPU) IOUnmap(virt uint64) {
	c.mmio(MMIO{Kind: MMIOUnmap, Virt: virt})
	s := &c.m.io
	s.maps = slices.DeleteFunc(s.maps, func(m ioMap) bool { return m.virt == virt&^(pageSize-1) })
}

// IOWrite writes width bytes of value to mapped memory.
func (c *CPU) IOWrite(virt uint64, width uint8, value uint64) {
	value &= 1<<(8*width) - 1
	c.mmio(MMIO{Kind: MMIOWrite, Virt: virt, Value: value, Width: width})
	for n := range uint64(width) {
		if b := c.m.io.at(virt + n); b != nil {
			*b = byte(value >> (8 * n))
		}
	}
}

// IORead reads width bytes of mapped memory.
func (c *CPU) IORead(virt uint64, width uint8) (value uint64) {
	for n := range uint64(width) {
		b := byte(0xff) // what is read if no device answers
		if p := c.m.io.at(virt + n); p != nil {
			b = *p
		}
		value |= uint64(b) << (8 * n)
	}
	c.mmio(MMIO{Kind: MMIORead, Virt: virt, Value: value, Width: width})
	return value
}

// at finds the byte at an address; nil if there is no memory.
func (s *ioSpace) at(virt uint64) *byte {
	for _, m := range s.maps {
		phys := m.phys + virt - m.virt
		if virt < m.virt || virt-m.virt >= m.size || phys-frameBuffer.Start >= frameBuffer.Size {
			continue
		}
		page := s.memory[phys/pageSize]
		if page == nil {
			if s.memory == nil {
				s.memory = map[uint64]*[pageSize]byte{}
			}
			page = new([pageSize]byte)
			s.memory[phys/pageSize] = page
		}
		return &page[phys%pageSize]
	}
	return nil
}

func (c *CPU) mmio(a MMIO) {
	if c.m.Hooks.MMIO != nil {
		c.args.mmio = a
		c.m.Hooks.MMIO(c, &c.args.mmio)
	}
}

// MMIOPrintk adds a remark of a driver to the trace, if what the driver does is traced.
//
// Kernel: mmiotrace_printk, arch/x86/mm/mmio-mod.c.
func (c *CPU) MMIOPrintk(text string, args ...any) {
	if c.m.Hooks.MMIO != nil && c.m.Hooks.Printk != nil {
		c.m.Hooks.Printk(c, &Printk{Kind: PrintkText, Text: text, Args: args})
	}
}
