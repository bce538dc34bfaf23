//go:build !race

package ringbuf_test

const underRace = false
