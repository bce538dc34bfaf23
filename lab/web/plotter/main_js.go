package main

import "ftracelab/lab/web/answer"

func main() { answer.Serve(new(plots).calls()) }
