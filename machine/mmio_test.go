package machine

import "testing"

// Mappings lie at multiples of their size with a page between them, at the lowest
// place that is free.
func TestIORemap(t *testing.T) {
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := m.CPUs()[0]
	small := c.IORemap(0xfd000010, 20)
	if want := uint64(vmallocBase + 0x10); small != want {
		t.Errorf("%#x, want %#x", small, want)
	}
	big := c.IORemap(0xfd000000, 8<<20)
	if want := uint64(vmallocBase + 8<<20); big != want {
		t.Errorf("%#x, want %#x", big, want)
	}
	if next, want := c.IORemap(0xfd000000, 1), uint64(vmallocBase+2*pageSize); next != want {
		t.Errorf("%#x, want %#x", next, want)
	}
	c.IOUnmap(small)
	if again := c.IORemap(0xfd000ff0, 0x20); again != vmallocBase+0x4ff0 { // two pages
		t.Errorf("%#x", again)
	}
	if again := c.IORemap(0xfd000000, 4096); again != vmallocBase {
		t.Errorf("%#x", again)
	}
}

// The display has memory, which two mappings share; elsewhere nothing answers.
func TestIOMemory(t *testing.T) {
	m, err := New(Config{CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := m.CPUs()[0]
	one, two := c.IORemap(0xfd000000, 8192), c.IORemap(0xfd000ffe, 4)
	c.IOWrite(one+0xffe, 4, 0x1234567890)
	if got := c.IORead(two, 4); got != 0x34567890 {
		t.Errorf("%#x", got)
	}
	if got := c.IORead(two+2, 1); got != 0x56 {
		t.Errorf("%#x", got)
	}
	end := c.IORemap(0xfdfffffe, 4)
	if got := c.IORead(end, 4); got != 0xffff0000 {
		t.Errorf("%#x behind the end", got)
	}
	c.IOUnmap(two)
	if got := c.IORead(two, 2); got != 0xffff {
		t.Errorf("%#x where nothing is mapped", got)
	}
}
