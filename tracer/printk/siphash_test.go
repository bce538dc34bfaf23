package printk

import "testing"

// The published vector of SipHash-2-4 for a message of eight bytes: the key is the
// bytes 0 to 15, the message 0 to 7.
func TestSipHash(t *testing.T) {
	k := Key{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	if got := k.hash(0x0706050403020100); got != 0x93f5f5799a932462 {
		t.Errorf("%#x", got)
	}
}
