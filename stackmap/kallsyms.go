package stackmap

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ftracelab/budget"
)

// Kallsyms names addresses by the text of /proc/kallsyms.
type Kallsyms struct {
	symbols []kallsym // by address
}

type kallsym struct {
	addr uint64
	name string
}

// kallsymCost is what a symbol takes, besides its name.
const kallsymCost = 32

// maxKallsymsLine is longer than any line of /proc/kallsyms.
const maxKallsymsLine = 4096

// ReadKallsyms reads the functions and labels of /proc/kallsyms, of modules as well. It
// asks memory for what it keeps.
//
// The error names the line that is not one of kallsyms. It is an error, too, if all
// addresses are 0, as they are for a reader whom the kernel does not trust with them.
func ReadKallsyms(r io.Reader, memory *budget.Budget) (*Kallsyms, error) {
	k := &Kallsyms{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxKallsymsLine)
	n, known := 0, false
	for lines.Scan() {
		n++
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if len(words) < 3 || len(words[1]) != 1 {
			return nil, fmt.Errorf("kallsyms: line %d: want ADDRESS TYPE NAME: %w", n, ErrInvalid)
		}
		addr, err := strconv.ParseUint(words[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("kallsyms: line %d: address %.40q: %w", n, words[0], ErrInvalid)
		}
		known = known || addr != 0
		if !strings.Contains("tTwW", words[1]) {
			continue
		}
		if err := memory.Take(int64(kallsymCost+len(words[2])), "kallsyms"); err != nil {
			return nil, err
		}
		k.symbols = append(k.symbols, kallsym{addr, strings.Clone(words[2])})
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("kallsyms: line %d: longer than %d bytes: %w", n+1, maxKallsymsLine, ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("kallsyms: line %d: %w", n+1, err)
	case !known:
		return nil, fmt.Errorf("kallsyms: no address is known (the kernel shows them to root): %w", ErrInvalid)
	}
	slices.SortStableFunc(k.symbols, func(a, b kallsym) int { return cmp.Compare(a.addr, b.addr) })
	return k, nil
}

// Symbol returns the name of the function or label that is nearest below addr or at it;
// "" if there is none.
func (k *Kallsyms) Symbol(addr uint64) string {
	n, _ := slices.BinarySearchFunc(k.symbols, addr, func(s kallsym, a uint64) int {
		if s.addr <= a {
			return -1
		}
		return 1
	})
	if n == 0 {
		return ""
	}
	return k.symbols[n-1].name
}
