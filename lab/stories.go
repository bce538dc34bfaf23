package lab

import (
	"strings"

	"ftracelab/ringbuf"
)

// small is a ring of n pages with 48 bytes of data each, and the reader's page.
// An event of 8 bytes takes 16: 4 for its header, and 4 more because the writer avoids
// the 12 that a time extend and a header need. So three of them fill a page.
func small(n int) ringbuf.Config { return ringbuf.Config{Size: n * 48, SubbufSize: 64} }

var eventStory = story{
	begin: "A sub-buffer of 256 bytes is empty. A task is going to write events of different sizes.",
	cfg:   ringbuf.Config{Size: 2 * 240, SubbufSize: 256},
	tell: func(r *ring) {
		r.write(ringbuf.Normal, "four")
		r.write(ringbuf.Normal, "nine byte")
		r.pause(200_000_000)
		r.write(ringbuf.Normal, "late")
		r.discard(ringbuf.Normal, "nobody!!")
		r.write(ringbuf.Normal, strings.Repeat("long", 29))
	},
}

var commitStory = story{
	begin: "The ring is empty: commit, tail and head are at the same place.",
	cfg:   small(3),
	tell: func(r *ring) {
		r.write(ringbuf.Normal, "one.....")
		r.write(ringbuf.Normal, "two.....")
	},
}

var crossingStory = story{
	begin: "The ring has three pages of 48 bytes. Three events of 16 bytes fit on each.",
	cfg:   small(3),
	tell:  func(r *ring) { r.events(6) },
}

var overwriteStory = story{
	begin: "The ring has three pages, and the reader one more. The writer will come round to the oldest.",
	cfg:   small(3),
	tell: func(r *ring) {
		r.events(9)
		r.consume()
		r.events(9)
		r.consume()
		r.consume()
	},
}

var swapStory = story{
	begin: "The ring has two pages, and the reader holds a third one, which is empty.",
	cfg:   small(2),
	tell: func(r *ring) {
		r.events(5)
		r.readPage()
		r.events(5)
		r.readPage()
		r.readPage()
	},
}

var nestedStory = story{
	begin: "A task is going to write two events. Choose after which step an interrupt comes; it writes one as well.",
	cfg:   ringbuf.Config{Size: 2 * 112, SubbufSize: 128},
	tell: func(r *ring) {
		r.write(ringbuf.Normal, "one.")
		r.write(ringbuf.Normal, "two.")
	},
}

var besideStory = story{
	begin: "The ring has two pages, both full, and the reader holds a third one, which is empty. A task is going to write four events, for which it has to give up the oldest page. A reader on another CPU makes one operation at each choice, wherever the writer is.",
	cfg:   small(2), fill: 6,
	tell: func(r *ring) { r.events(4) },
}

var fullStory = story{
	begin: "The ring has two pages, and overwriting is off (options/overwrite is 0).",
	cfg:   ringbuf.Config{Size: 2 * 48, SubbufSize: 64, NoOverwrite: true},
	tell: func(r *ring) {
		r.events(9)
		r.readPage()
		r.events(2)
	},
}

var stormStory = story{
	begin: "The ring has eight pages of 4,080 bytes. Ten thousand events follow.",
	cfg:   ringbuf.Config{Size: 8 * 4080},
	tell:  func(r *ring) { r.events(10_000) },
}

// events writes n events of 8 bytes.
func (r *ring) events(n int) {
	for range n {
		if r.err != nil {
			return
		}
		r.write(ringbuf.Normal, r.next())
	}
}

// next is the text of the next event: how many were written before. A run makes thousands
// of them on the way to a step.
func (r *ring) next() string {
	text := []byte("ev 00000")
	for at, n := len(text)-1, r.written; n > 0 && at >= 3; at, n = at-1, n/10 {
		text[at] = byte('0' + n%10)
	}
	return string(text)
}
