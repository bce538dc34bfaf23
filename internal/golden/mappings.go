package golden

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"ftracelab/capture"
	"ftracelab/tracer/event"
)

// hasFiles reports whether the text names places in mapped files (sym-userobj). These
// are files of tasks that still lived when the text was read; nothing else tells them.
func (t *Text) hasFiles() bool { return bytes.Contains(t.Content, []byte("[+0x")) }

var (
	userAddress = regexp.MustCompile(`^ =>  <([0-9a-f]{16})>$`)
	userPlace   = regexp.MustCompile(`^ => (/.*)\[\+0x([0-9a-f]+)\](?: <[0-9a-f]{16}>)?$`)
)

// file is a mapped file of a process.
type file struct {
	tgid  int32
	start uint64
	path  string // "": memory without a file
}

// mappings makes files maps.PID from a text and from our text, got, which has addresses
// where the other has places in files.
func (t *Text) mappings(got []byte, dir string, opt capture.Options) (map[string][]byte, error) {
	if kept, err := filepath.Glob(filepath.Join(dir, "maps.*")); !t.hasFiles() || len(kept) > 0 || err != nil {
		return nil, err
	}
	tgids, err := t.stackOwners(dir, opt)
	if err != nil {
		return nil, err
	}
	last := map[file]uint64{} // the highest address seen in each file
	stack := -1
	ours := bytes.Split(got, []byte("\n"))
	i := 0
	for line := range bytes.Lines(t.Content) {
		if i >= len(ours) {
			break
		}
		if bytes.HasSuffix(ours[i], []byte(": <user stack trace>")) || bytes.Equal(ours[i], []byte("<user stack trace>")) {
			stack++
		}
		a, p := userAddress.FindSubmatch(ours[i]), userPlace.FindSubmatch(bytes.TrimSuffix(line, []byte("\n")))
		if i++; a == nil || stack >= len(tgids) {
			continue
		}
		ip, err := strconv.ParseUint(string(a[1]), 16, 64)
		if err != nil {
			return nil, err
		}
		f := file{tgid: tgids[stack], start: ip} // memory without a file, unless the text names one
		if p != nil {
			offset, err := strconv.ParseUint(string(p[2]), 16, 64)
			if err != nil {
				return nil, err
			}
			f.start, f.path = ip-offset, string(p[1])
		}
		last[f] = max(last[f], f.start, ip)
	}
	return procMaps(last), nil
}

// procMaps writes mappings in the form of /proc/PID/maps.
func procMaps(last map[file]uint64) map[string][]byte {
	order := func(a, b file) int { return cmp.Or(cmp.Compare(a.tgid, b.tgid), cmp.Compare(a.start, b.start)) }
	added := map[string][]byte{}
	for _, f := range slices.SortedFunc(maps.Keys(last), order) {
		name := fmt.Sprintf("maps.%d", f.tgid)
		added[name] = fmt.Appendf(added[name], "%x-%x r-xp 00000000 00:00 0 %s\n", f.start, last[f]+1, f.path)
	}
	return added
}

// stackOwners gives the tgids of the user stacks, in the order of the text.
func (t *Text) stackOwners(dir string, opt capture.Options) (tgids []int32, err error) {
	c, err := t.open(dir, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	const userStack = 12 // TRACE_USER_STACK, kernel/trace/trace.h
	typ := c.Config().Types.ByID(userStack)
	m, err := c.Merge(t.CPU)
	if err != nil {
		return nil, err
	}
	for e, _, ok := m.Next(); ok; e, _, ok = m.Next() {
		if len(e.Data) >= event.CommonSize && event.ParseCommon(e.Data).Type == userStack {
			tgids = append(tgids, int32(typ.Field("tgid").Int(e.Data)))
		}
	}
	return tgids, nil
}
