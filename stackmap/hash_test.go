package stackmap

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// jhash2Words is lookup3 over any number of words, written down word by word:
// what the fast version for whole addresses is compared with.
func jhash2Words(words []uint32, seed uint32) uint32 {
	v := [3]uint32{}
	for i := range v {
		v[i] = 0xdeadbeef + uint32(len(words))<<2 + seed
	}
	for len(words) > 3 {
		for i := range v {
			v[i] += words[i]
		}
		for i, k := range []int{4, 6, 8, 16, 19, 4} {
			x, y, z := i%3, (i+1)%3, (i+2)%3
			v[x] -= v[z]
			v[x] ^= bits.RotateLeft32(v[z], k)
			v[z] += v[y]
		}
		words = words[3:]
	}
	if len(words) == 0 {
		return v[2]
	}
	for i, w := range words {
		v[i] += w
	}
	for i, k := range []int{14, 11, 25, 16, 4, 14, 24} {
		x, y := (2+i)%3, (1+i)%3
		v[x] ^= v[y]
		v[x] -= bits.RotateLeft32(v[y], k)
	}
	return v[2]
}

func TestJHash2Vectors(t *testing.T) {
	for _, v := range []struct {
		words []uint32
		seed  uint32
		want  uint32
	}{
		{nil, 0, 0xdeadbeef},
		{[]uint32{1}, 0, 0x72a82a9b},
		{[]uint32{1, 2, 3}, 0, 0xa46158f5},
		{[]uint32{1, 2, 3, 4}, 0x1234, 0xf83bdd1e},
	} {
		if got := jhash2Words(v.words, v.seed); got != v.want {
			t.Errorf("words %v, seed %#x: %#x, want %#x", v.words, v.seed, got, v.want)
		}
	}
	if got := jhash2(nil, 0); got != 0xdeadbeef {
		t.Errorf("no address: %#x", got)
	}
	// The words 1, 2, 3, 4 as two little-endian addresses.
	if got := jhash2([]uint64{2<<32 | 1, 4<<32 | 3}, 0x1234); got != 0xf83bdd1e {
		t.Errorf("two addresses: %#x", got)
	}
	stack := []uint64{0xffffffff81000000, 0xffffffff81000abc, 0xffffffff8100f000}
	if got := jhash2(stack, 0); got != 0x555d4b8e {
		t.Errorf("stack: %#x", got)
	}
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := m.GetID(0, stack); id != 10926 || err != nil {
		t.Errorf("first slot: %d, %v; want 10926", id, err)
	}
}

func TestJHash2Words(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ips := rapid.SliceOfN(rapid.Uint64(), 0, 70).Draw(t, "ips")
		seed := rapid.Uint32().Draw(t, "seed")
		var words []uint32
		for _, ip := range ips {
			words = append(words, uint32(ip), uint32(ip>>32))
		}
		if got, want := jhash2(ips, seed), jhash2Words(words, seed); got != want {
			t.Fatalf("%#x, word by word %#x", got, want)
		}
	})
}

// TestXXHashes checks that chunks of the hashes' buffers join, that the seed
// counts, and that no hash allocates.
func TestXXHashes(t *testing.T) {
	for h, hash := range map[Hash]func([]uint64, uint32) uint32{XXHash64: xxhash64, XXH3: xxh3Hash} {
		t.Run(h.String(), func(t *testing.T) { testHash(t, h, hash) })
	}
}

func testHash(t *testing.T, h Hash, hash func([]uint64, uint32) uint32) {
	cfg := Config{Hash: h, Seed: 1}
	if stack := []uint64{0xffffffff81000000, 0xffffffff81000abc}; cfg.key(stack) != hash(stack, 1) {
		t.Error("the map's hash is another one")
	}
	seen := map[uint32]int{}
	ips := make([]uint64, 3*defaultDepth)
	for n := range ips {
		seen[hash(ips[:n], 1)]++
	}
	if len(seen) != len(ips) {
		t.Errorf("%d hashes of %d stacks of zeros", len(seen), len(ips))
	}
	if hash(ips, 1) == hash(ips, 2) {
		t.Error("the seed does not count")
	}
	ips[2*defaultDepth] = 1
	if _, ok := seen[hash(ips[:len(ips)-1], 1)]; ok {
		t.Error("an address of the third chunk does not count")
	}
	if n := testing.AllocsPerRun(10, func() { hash(ips, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestXXHash64 compares with the hash of the bytes by the library that others use.
func TestXXHash64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ips := rapid.SliceOfN(rapid.Uint64(), 0, 70).Draw(t, "ips")
		seed := rapid.Uint32().Draw(t, "seed")
		d := xxhash.NewWithSeed(uint64(seed))
		for _, ip := range ips {
			d.Write(binary.LittleEndian.AppendUint64(nil, ip))
		}
		if got, want := xxhash64(ips, seed), uint32(d.Sum64()>>32); got != want {
			t.Fatalf("%#x, by bytes %#x", got, want)
		}
	})
}

// TestHashesSpread: stacks that differ in little, as those of a kernel do, have keys and
// homes that differ as often as those of chance do.
func TestHashesSpread(t *testing.T) {
	const n, homeBits = 1 << 16, 15
	for _, hash := range Hashes() {
		cfg := Config{Hash: hash, Seed: 3}
		for name, stack := range map[string]func(i int) []uint64{
			"first address": func(i int) []uint64 { ips := stackOf(0, 16); ips[0] += uint64(i); return ips },
			"last address":  func(i int) []uint64 { ips := stackOf(0, 17); ips[16] += uint64(16 * i); return ips },
			"two addresses": func(i int) []uint64 {
				ips := stackOf(0, 20)
				ips[3] += uint64(i >> 8)
				ips[11] += uint64(i & 255)
				return ips
			},
			"upper halves":   func(i int) []uint64 { ips := stackOf(0, 9); ips[2] += uint64(i) << 40; return ips },
			"all addresses":  func(i int) []uint64 { return stackOf(i, 12) },
			"number of them": func(i int) []uint64 { return make([]uint64, 1+i%1000) },
		} {
			keys, homes := map[uint32]bool{}, map[uint32]int{}
			for i := range n {
				key := cfg.key(stack(i))
				keys[key] = true
				homes[key>>(32-homeBits)]++
			}
			most := 0
			for _, stacks := range homes {
				most = max(most, stacks)
			}
			// By chance there is half a collision of all 32 bits, and no home has more
			// than 13 of the 65,536 stacks; 1,000 stacks fill nearly as many homes.
			switch {
			case name == "number of them":
				if len(keys) != 1000 || len(homes) < 960 {
					t.Errorf("%v, %s: %d keys, %d homes of 1000 stacks", hash, name, len(keys), len(homes))
				}
			case len(keys) < n-4 || most > 16:
				t.Errorf("%v, %s: %d keys of %d stacks, up to %d of them with one home", hash, name, len(keys), n, most)
			}
		}
		other := cfg
		other.Seed++
		if cfg.key(stackOf(0, 5)) == other.key(stackOf(0, 5)) {
			t.Errorf("%v: the seed does not count", hash)
		}
	}
}

// TestXXH3Vectors: the hash is XXH3 of the addresses in little-endian order. Bytes and
// values are those of the sanity check of xxHash's own program, xxhsum.
func TestXXH3Vectors(t *testing.T) {
	var bytes [512]uint64
	gen := uint64(2654435761)
	for i := range bytes {
		bytes[i] = gen >> 56
		gen *= 11400714785074694797
	}
	for words, want := range map[int]uint64{
		0: 0x2d06800538d394c2, 3: 0xa3fe70bf9d3510eb, 6: 0x397da259ecba1f11, 10: 0xbcdefbbb2c47c90a, 64: 0x617e49599013cb6b,
	} {
		ips := make([]uint64, words)
		for n := range 8 * words {
			ips[n/8] |= bytes[n] << (n % 8 * 8)
		}
		if got := xxh3Hash(ips, 0); uint64(got) != want>>32 {
			t.Errorf("%d addresses: %#x, want the upper half of %#x", words, got, want)
		}
	}
}
