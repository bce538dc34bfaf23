package main

import (
	"context"
	"time"
)

// While Go runs, the browser cannot tell what was typed, and no timer ends. So work that
// may take long lets the browser run from time to time: it breathes.

// breatheAfter is how long the browser may have to wait.
const breatheAfter = 100 * time.Millisecond

var breathed time.Time // when the browser has run last

// breathe lets the browser run if it has waited long enough.
func breathe() {
	if time.Since(breathed) > breatheAfter {
		time.Sleep(time.Millisecond)
		breathed = time.Now()
	}
}

// breathing is a context that breathes whenever somebody asks whether it has ended.
func breathing(ctx context.Context) context.Context { return breathingContext{ctx} }

type breathingContext struct{ context.Context }

func (c breathingContext) Err() error {
	breathe()
	return c.Context.Err()
}

func (c breathingContext) Done() <-chan struct{} {
	breathe()
	return c.Context.Done()
}
