// Package browsertest operates the pages of ftracelab in a real browser, Chromium. It is a
// module of its own, so that ftracelab does not depend on the driver of the browser:
//
//	go test -C internal/browsertest .
//
// With -pictures DIR it also writes there what each page looks like.
package browsertest
