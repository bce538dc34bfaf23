package main

import "ftracelab/lab/web/answer"

func main() {
	answer.Serve(calls(func(text string) { answer.Say("progress", text) }))
}
