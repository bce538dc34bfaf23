package vmlinux

import (
	"encoding/binary"
	"slices"
	"testing"
)

func TestPayload(t *testing.T) {
	image := make([]byte, 4096)
	copy(image[headerMagic:], "HdrS")
	image[setupSects] = 1
	binary.LittleEndian.PutUint32(image[payloadOffset:], 16)
	binary.LittleEndian.PutUint32(image[payloadLength:], 12)
	copy(image[1024+16:], "payloadssize")
	if got, err := payload(image); err != nil || string(got) != "payloads" {
		t.Errorf("%q, %v", got, err)
	}
	for what, spoil := range map[string]func([]byte){
		"no magic":   func(b []byte) { b[headerMagic] = 0 },
		"too long":   func(b []byte) { b[payloadLength+2] = 1 },
		"no size":    func(b []byte) { b[payloadLength] = 3 },
		"far behind": func(b []byte) { b[payloadOffset+3] = 0xff },
	} {
		bad := slices.Clone(image)
		spoil(bad)
		if _, err := payload(bad); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
	if _, err := payload(image[:100]); err == nil {
		t.Error("100 bytes are taken")
	}
}
