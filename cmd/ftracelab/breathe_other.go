//go:build !js

package main

import "context"

// breathing is for pages, in which work has to let the browser run.
func breathing(ctx context.Context) context.Context { return ctx }
