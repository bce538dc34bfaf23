package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"ftracelab/workload/program"
)

// symbolWriter writes text in which addresses of user space get the names of functions of
// ELF files. Lines of folded stacks get them instead of addresses, other text before them.
type symbolWriter struct {
	w      io.Writer
	images []*program.Image
	folded bool
	joined bool   // what follows a path is an offset in the file, not in its mapping
	rest   []byte // a line that has not ended yet
}

// loadSymbols makes a writer that knows the functions of some files; without files it is w.
func loadSymbols(w io.Writer, files []string, joined, folded bool) (out io.Writer, flush func() error, err error) {
	if len(files) == 0 {
		return w, func() error { return nil }, nil
	}
	s := &symbolWriter{w: w, joined: joined, folded: folded}
	for _, path := range files {
		im, err := program.Load(path)
		if err != nil {
			return nil, nil, err
		}
		s.images = append(s.images, im)
	}
	return s, s.flush, nil
}

// Addresses as the text has them: <000055…>, which a walk that came later writes as the
// offset in a file with the file's inode; PATH[+0x…]; and 0x….
var (
	bracketed = regexp.MustCompile(`<([0-9a-f]{16})>(?: : (-?\d+) : )?`)
	inFile    = regexp.MustCompile(`(inode [0-9]+ on [0-9]+:[0-9]+|[^\s;]+)\[\+0x([0-9a-f]+)\]`)
	bare      = regexp.MustCompile(inFile.String() + `|0x[0-9a-f]{5,16}\b`)
	arrow     = []byte(" => ")
)

func (s *symbolWriter) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	end := bytes.LastIndexByte(s.rest, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	var out []byte
	for line := range bytes.Lines(s.rest[:end]) {
		out = append(out, s.line(line)...)
	}
	s.rest = append(s.rest[:0], s.rest[end:]...)
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// flush writes the last line if it has no end.
func (s *symbolWriter) flush() error {
	_, err := s.w.Write(s.line(s.rest))
	s.rest = nil
	return err
}

// line puts names into a line.
func (s *symbolWriter) line(line []byte) []byte {
	if s.folded {
		return bare.ReplaceAllFunc(line, func(text []byte) []byte {
			name := ""
			if m := inFile.FindSubmatch(text); m != nil {
				name = s.inFile(string(m[1]), s.number(m[2]))
			} else {
				name = s.at(s.number(text[2:]))
			}
			if name == "" {
				return text
			}
			return []byte(name[:strings.LastIndexByte(name, '+')])
		})
	}
	if !bytes.HasPrefix(line, arrow) {
		return line
	}
	name := ""
	switch {
	case inFile.Match(line):
		m := inFile.FindSubmatch(line)
		name = s.inFile(string(m[1]), s.number(m[2]))
		for _, im := range s.images { // the trace may not tell which file the inode is
			if bytes.HasPrefix(m[1], fmt.Appendf(nil, "inode %d on ", im.Inode())) {
				line = bytes.Replace(line, m[1], []byte(im.Path), 1)
				break
			}
		}
	case bracketed.Match(line):
		m := bracketed.FindSubmatch(line)
		addr, inode := s.number(m[1]), string(m[2])
		if inode == "" || inode == "-1" {
			name = s.at(addr)
			break
		}
		for _, im := range s.images {
			if inode != strconv.FormatUint(im.Inode(), 10) {
				continue
			}
			if addr, ok := im.AtOffset(addr); ok {
				name = im.Name(addr)
			}
		}
	case bare.Match(line):
		name = s.at(s.number(bare.Find(line)[2:]))
	}
	if name == "" {
		return line
	}
	return append(append(append(append([]byte(nil), arrow...), name...), ' '), line[len(arrow):]...)
}

// inFile says what lies at an offset of a file: a path, or an inode with its device.
func (s *symbolWriter) inFile(file string, offset uint64) string {
	for _, im := range s.images {
		addr, ok := im.AtMapping(offset)
		switch inode := fmt.Sprintf("inode %d on ", im.Inode()); {
		case strings.HasPrefix(file, inode), s.joined && file == im.Path:
			addr, ok = im.AtOffset(offset)
		case file != im.Path:
			continue
		}
		if ok {
			return im.Name(addr)
		}
	}
	return ""
}

// at says what lies at an address, if one of the files has a name for it.
func (s *symbolWriter) at(addr uint64) string {
	for _, im := range s.images {
		if name := im.Name(addr); name != "" {
			return name
		}
	}
	return ""
}

// number reads the digits of an address.
func (s *symbolWriter) number(digits []byte) uint64 {
	n, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil {
		return 0
	}
	return n
}
