package main

import (
	"fmt"

	"github.com/docker/go-units"

	"ftracelab/budget"
)

// size is a number of bytes as a flag: 256M, 2G.
type size int64

// String implements flag.Value.
func (s *size) String() string {
	return units.CustomSize("%.4g%s", float64(*s), 1024, []string{"", "K", "M", "G", "T"})
}

// Set implements flag.Value.
func (s *size) Set(text string) error {
	n, err := units.RAMInBytes(text)
	if err != nil {
		return fmt.Errorf("%q is no size, as 256M", text)
	}
	if n < budget.Least {
		return fmt.Errorf("%s is too little: %dM is the least", text, budget.Least>>20)
	}
	*s = size(n)
	return nil
}
