package capture

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// fileMaps are the files that processes had mapped. The option sym-userobj needs them.
//
// Kernel: seq_print_user_ip, kernel/trace/trace_output.c, asks the task itself, if it
// still lives when the text is read.
type fileMaps map[int32][]mapping // by tgid, by start

// mapping is a line of /proc/PID/maps.
type mapping struct {
	start, end uint64
	path       string // "": memory without a file
}

// mappingCost is the size of a mapping in bytes, without its path.
const mappingCost = 48

// maxMappings is how many mappings are kept of all processes together.
const maxMappings = 1 << 20

// readMaps reads the files maps.PID of a capture folder.
//
// Kernel: show_map_vma, fs/proc/task_mmu.c.
func readMaps(l location) (fileMaps, error) {
	entries, err := fs.ReadDir(l.fsys, l.name)
	if err != nil {
		return nil, fileError(l.shown, "cannot list", cause(err))
	}
	m, n := fileMaps{}, 0
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "maps.")
		pid, err := strconv.ParseInt(digits, 10, 32)
		if !ok || err != nil {
			continue
		}
		shown := path.Join(l.shown, e.Name())
		text, err := readAll(l.fsys, path.Join(l.name, e.Name()), shown)
		if err != nil {
			return nil, err
		}
		if err := l.fsys.tables(text, 1, shown); err != nil {
			return nil, err
		}
		count := bytes.Count(text, []byte("\n")) + 1
		if n += count; n > maxMappings {
			return nil, fileError(shown, "more than a million mappings", nil)
		}
		if err := l.fsys.memory.Take(int64(count)*mappingCost, "its mappings"); err != nil {
			return nil, fileError(shown, fmt.Sprintf("%d lines", count), err)
		}
		list := make([]mapping, 0, count)
		for line := range bytes.Lines(text) {
			if v, ok := parseMapping(string(line)); ok {
				list = append(list, v)
			}
		}
		slices.SortFunc(list, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
		m[int32(pid)] = list
	}
	return m, nil
}

// parseMapping reads "START-END PERMISSIONS OFFSET DEVICE INODE [PATH]"; ok is false
// for other lines.
func parseMapping(line string) (m mapping, ok bool) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return m, false
	}
	start, end, _ := strings.Cut(f[0], "-")
	var ok1, ok2 bool
	m.start, ok1 = parseHex([]byte(start))
	m.end, ok2 = parseHex([]byte(end))
	if i := strings.Index(line, " /"); i >= 0 {
		m.path = strings.TrimRight(line[i+1:], "\r\n")
	}
	return m, ok1 && ok2
}

// file finds the file that is mapped at an address, and where its mapping starts. An
// address between two mappings counts as one of the upper mapping, with a negative
// offset.
//
// Kernel: find_vma, mm/mmap.c, gives the first mapping that ends above the address.
func (m fileMaps) file(tgid int32, ip uint64) (path string, start uint64) {
	list := m[tgid]
	i := sort.Search(len(list), func(i int) bool { return list[i].end > ip })
	if i == len(list) {
		return "", 0
	}
	return list[i].path, list[i].start
}
