package tracedat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"testing"
)

// corpus are well-formed files of all kinds.
func corpus() map[string][]byte {
	files := map[string][]byte{}
	for _, m := range []machine{native, {binary.BigEndian, 8}, {binary.LittleEndian, 4}} {
		for _, t := range sampleTargets() {
			files[fmt.Sprintf("%v-%d-%d-%s", m.order, m.long, t.Version, t.Compression)] = m.sample(t)
		}
	}
	return files
}

// readAll reads all that a file holds. Errors name a place in the file.
func readAll(data []byte) error {
	f, err := New(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(data)) {
			panic(fmt.Sprintf("an error without a place in the file of %d bytes: %v", len(data), err))
		}
		return err
	}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		for _, c := range b.CPUs {
			// A file may give the same bytes to thousands of CPUs.
			if _, err := io.Copy(io.Discard, io.LimitReader(f.CanonicalPages(b, c.CPU), 1<<20)); err != nil {
				return err
			}
		}
		if i > 8 {
			break
		}
		if _, err := fs.ReadDir(f.Folder(b), "."); err != nil {
			return err
		}
		if b.Text != nil {
			if _, err := io.Copy(io.Discard, io.LimitReader(f.Text(b), 1<<20)); err != nil {
				return err
			}
		}
	}
	return nil
}

func FuzzFile(f *testing.F) {
	for _, data := range corpus() {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { readAll(data) }) //nolint:errcheck // an error is a fine answer
}

// A thousand damaged files are refused, and none of them makes the reader panic or
// take memory that the file does not account for.
func TestDamagedFiles(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var files [][]byte
	for _, m := range []machine{native, {binary.BigEndian, 4}} {
		for _, target := range sampleTargets() {
			data := m.sample(target)
			if err := readAll(data); err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
		}
	}
	var before, after runtime.MemStats
	refused, tried := 0, 0
	for ; refused < 1000; tried++ {
		if tried > 100_000 {
			t.Fatalf("of %d files only %d were refused", tried, refused)
		}
		data := damage(rnd, files[rnd.IntN(len(files))])
		runtime.ReadMemStats(&before)
		err := readAll(data)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
			t.Errorf("file %d: %d MiB allocated for %d bytes: %v", tried, grown>>20, len(data), err)
		}
		if err != nil {
			refused++
		}
	}
	t.Logf("%d damaged files, %d refused", tried, refused)
}

// damage changes a file: a number somewhere, a byte, or where it ends.
func damage(rnd *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	// Most of a file is pages, and these are the business of others.
	at := rnd.IntN(len(data))
	if rnd.IntN(4) > 0 {
		at = rnd.IntN(min(len(data), 2600))
	}
	switch rnd.IntN(4) {
	case 0:
		return data[:at]
	case 1:
		binary.LittleEndian.PutUint32(data[min(at, len(data)-4):], rnd.Uint32())
	case 2:
		binary.LittleEndian.PutUint64(data[min(at, len(data)-8):], 1<<rnd.IntN(64)-1)
	default:
		for range 1 + rnd.IntN(4) {
			data[rnd.IntN(len(data))] ^= byte(1 + rnd.IntN(255))
		}
	}
	return data
}
