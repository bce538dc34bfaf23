package main

import (
	"context"

	stepping "ftracelab/lab"
)

// bootConsole starts the machine of the scenario tracefs of step.
func bootConsole() (stepping.Console, error) {
	m, err := bootLesson([]string{"--cpus", "2"})
	if err != nil {
		return nil, err
	}
	return func(command string) (string, error) { return m.Run(context.Background(), command+"\n") }, nil
}
