package fgraph

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestWordsGolden compares the words that are made here with those of a table, which was
// written from the constants of the kernel and not by this package.
func TestWordsGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		word, err := strconv.ParseUint(f[0], 0, 64)
		if err != nil || len(f) < 3 {
			t.Fatalf("%q: %v", line, err)
		}
		number := func(n int) int {
			v, err := strconv.Atoi(f[n])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return v
		}
		back, made, means := number(2), uint64(0), ""
		switch f[1] {
		case "reserved":
			made = reservedWord(back)
			means = fmt.Sprint("reserved ", wordBack(word))
		case "bitmap":
			set := uint16(0)
			for user := range strings.SplitSeq(f[3], ",") {
				n, err := strconv.Atoi(user)
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				set |= 1 << n
			}
			made = bitmapWord(set, back)
			means = fmt.Sprint("bitmap ", wordBack(word), strings.ReplaceAll(users(word), " ", ","))
			means = strings.Replace(means, ",", " ", 1)
		case "data":
			made = dataWord(number(3), number(4), back)
			means = fmt.Sprint("data ", wordBack(word), " ", wordDataUser(word), " ", wordDataSize(word))
		}
		kinds[f[1]]++
		if made != word || means != strings.Join(f[1:], " ") {
			t.Errorf("%s: made as %#x, read as %q", strings.TrimSpace(line), made, means)
		}
		if kind := [...]string{"reserved", "bitmap", "data"}[wordType(word)]; kind != f[1] {
			t.Errorf("%s: type %s", strings.TrimSpace(line), kind)
		}
	}
	if kinds["reserved"] < 2 || kinds["bitmap"] < 5 || kinds["data"] < 7 {
		t.Errorf("words in the table: %v", kinds)
	}
}

// TestEveryWord makes every word that there can be and reads it again, by the positions
// of the bits that the table's head names. A bit that belongs to nothing is 0.
func TestEveryWord(t *testing.T) {
	field := func(w uint64, low, high int) int { return int(w >> low & (1<<(high-low+1) - 1)) }
	for user := range MaxOps {
		for size := 1; size <= MaxDataBytes/8; size++ {
			for back := 1; back < StackWords; back++ {
				w := dataWord(user, size, back)
				if field(w, 0, 9) != back || field(w, 10, 11) != 2 || field(w, 12, 16) != size-1 || field(w, 17, 20) != user || w>>21 != 0 {
					t.Fatalf("user %d, %d words, %d back: %#x", user, size, back, w)
				}
			}
		}
	}
	for set := range 1 << MaxOps {
		for _, back := range []int{3, 4, 5} {
			w := bitmapWord(uint16(set), back)
			if field(w, 0, 9) != back || field(w, 10, 11) != 1 || field(w, 12, 27) != set || w>>28 != 0 {
				t.Fatalf("users %#x, %d back: %#x", set, back, w)
			}
			if got := strings.Count(users(w), " "); got != bits.OnesCount(uint(set)) {
				t.Fatalf("users %#x: reads %d of them", set, got)
			}
		}
	}
}
