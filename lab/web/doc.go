// Package web is the lab in a browser: a folder of static files that needs no server of
// its own and sends nothing anywhere.
//
// The page runs Go programs that were built for js/wasm, each loaded by the part that needs
// it. The first one to be loaded is lab/web/stepper, which is small and holds package lab.
// The shell, the lessons and the steps of scenario tracefs need the simulated machine, which
// is cmd/ftracelab built for js/wasm. The estimate of a file is lab/web/estimator, and the
// time line is lab/web/plotter. All of them run in Web Workers, so that the page never
// stands still.
//
// The programs, and a trace.dat for the time line to begin with, are not in the source tree,
// as they change with each of its lines. go generate ./lab/web builds them into the folder
// programs, from where they are embedded when ftracelab is built after it. Without them [Build] makes them when they are needed.
//
// [New] puts page and programs together. A [Site] is an http.Handler for the loopback
// address, and [Site.Export] writes it into a folder for any web server.
package web

//go:generate go run ftracelab/lab/web/build
