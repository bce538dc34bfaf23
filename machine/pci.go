package machine

// PCIDevice is a device on the machine's bus.
//
// Kernel: struct pci_dev, include/linux/pci.h.
type PCIDevice struct {
	Bus, DevFn     uint8 // DevFn: slot<<3 | function
	Vendor, Device uint16
	IRQ            int
	Regions        [7]PCIRegion // base address registers, and the expansion ROM
	Driver         string       // "": it has none
}

// PCIRegion is a range of addresses to which a device answers. Flags are the low bits
// of its register: 1 for ports, 8 for memory that may be prefetched, 4 for an address
// of 64 bits.
type PCIRegion struct {
	Start, Size uint64
	Flags       uint8
}

// frameBuffer is the memory of the display adapter.
var frameBuffer = PCIRegion{Start: 0xfd000000, Size: 16 << 20, Flags: 8}

// PCIDevices are the devices of the machine, in the order of their addresses.
//
// Departure: the devices are those of a small virtual machine, with made-up addresses.
// They do nothing, except for the display's memory, the disk, and the port, which reports
// errors on its link. Of their drivers, only pcieport and virtio-pci are built in.
func PCIDevices() []PCIDevice {
	return []PCIDevice{
		{DevFn: 0x00, Vendor: 0x8086, Device: 0x1237},
		{DevFn: 0x08, Vendor: 0x8086, Device: 0x7000},
		{DevFn: 0x10, Vendor: 0x1234, Device: 0x1111, Regions: [7]PCIRegion{0: frameBuffer, 2: {Start: 0xfebf0000, Size: 4096}}},
		{DevFn: 0x18, Vendor: 0x1af4, Device: 0x1001, IRQ: 11, Driver: "virtio-pci", Regions: [7]PCIRegion{
			0: {Start: 0xc000, Size: 128, Flags: 1}, 1: {Start: 0xfebf1000, Size: 4096}, 4: {Start: 0xfe000000, Size: 16384, Flags: 0xc},
		}},
		{DevFn: 0x20, Vendor: 0x1b36, Device: 0x000c, IRQ: 24, Driver: "pcieport"},
	}
}
