package main

import (
	"bytes"
	"encoding/gob"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ftracelab/internal/testutil"
	"ftracelab/workload"
)

// TestUsersAreCurrent: the embedded processes are what the captures give. They are compared
// after decoding: gob numbers types by what the process has encoded before.
func TestUsersAreCurrent(t *testing.T) {
	subsystems := testutil.FromEnv(t, "FTRACELAB_SUBSYSTEMS", "the folder with the captures of subsystems")
	made := filepath.Join(t.TempDir(), "users")
	if err := learnUsers(testutil.Oracle(t), subsystems, made); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decodedUsers(t, made), decodedUsers(t, "../../workload/users.bin.gz")) {
		t.Error("users.bin.gz: run go generate ./workload")
	}
}

func decodedUsers(t *testing.T, name string) *workload.Users {
	t.Helper()
	u := new(workload.Users)
	if err := gob.NewDecoder(bytes.NewReader(testutil.Gunzip(t, name))).Decode(u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRepeated(t *testing.T) {
	for _, c := range []struct {
		list           string
		start, size, n int
	}{
		{"a b c a b c a b c d", 0, 3, 3},
		{"x a b a b a b a b y z", 1, 2, 4},
		{"a a a a", 0, 1, 4},
		{"a b c d", 0, 0, 0},
		{"a", 0, 0, 0},
	} {
		if start, size, n := repeated(strings.Fields(c.list)); start != c.start || size != c.size || n != c.n {
			t.Errorf("%s: %d elements from %d on, %d times", c.list, size, start, n)
		}
	}
}

// TestLinkRuns: the k-th fork made the task with the k-th pid.
func TestLinkRuns(t *testing.T) {
	shell := &userRun{pid: 10, calls: []userCall{{time: 1, nr: 39}, {time: 2, nr: 56}, {time: 5, nr: 56}, {time: 9, nr: 231}}}
	first := &userRun{pid: 11, calls: []userCall{{time: 3, nr: 435}, {time: 8, nr: 231}}}
	thread := &userRun{pid: 12, calls: []userCall{{time: 4, nr: 60}}}
	second := &userRun{pid: 13, calls: []userCall{{time: 6, nr: 231}}}
	root, err := linkRuns([]*userRun{shell, first, thread, second})
	if err != nil {
		t.Fatal(err)
	}
	if root != shell || !reflect.DeepEqual(shell.children, []*userRun{first, second}) || !reflect.DeepEqual(shell.clones, []int{1, 2}) {
		t.Errorf("the shell has the children %v, forked at %v", shell.children, shell.clones)
	}
	if !reflect.DeepEqual(first.children, []*userRun{thread}) || !thread.thread || second.thread {
		t.Error("the thread has another parent, or is none")
	}
	early := &userRun{pid: 11, calls: []userCall{{time: 1}}}
	late := &userRun{pid: 10, calls: []userCall{{time: 2, nr: 56}}}
	if _, err := linkRuns([]*userRun{late, early}); err == nil {
		t.Error("a task that ran before its fork was linked")
	}
	if _, err := linkRuns([]*userRun{late}); err == nil {
		t.Error("a fork without a child was linked")
	}
}

// TestPartition: words that have moved by the same distance are a part.
func TestPartition(t *testing.T) {
	const libs, stack, text = 0x7f0000000000, 0x7ffe00000000, 0x555500000000
	call := func(libsBy, stackBy, textBy, secret uint64) userCall {
		return userCall{nr: 1, stack: []uint64{libs + libsBy + 0x123, text + textBy + 0x456, stack + stackBy + 0x10, 0x1800, 0xbdb6000000000000 + secret}}
	}
	a, b := call(0, 0, 0, 0), call(0x5000, 0x70010, 0x9000, 0x123456789)
	s := &userSpace{calls: []*userCall{&a}, moved: map[uint64]map[uint64]int{}}
	s.compare(&a, &b)
	s.partition()
	var got []workload.UserBase
	for _, w := range a.stack {
		base, off := s.where(w)
		if base == 0 {
			if w != 0x1800 || off != 0x1800 {
				t.Errorf("%#x is constant", w)
			}
			continue
		}
		p := s.parts[base-1]
		got = append(got, p.base)
		if p.anchor+uint64(off) != w {
			t.Errorf("%#x is %#x behind %#x", w, off, p.anchor)
		}
	}
	want := []workload.UserBase{workload.MapBase, workload.TextBase, workload.FrameBase, workload.ChanceBase}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the parts are %v, want %v", got, want)
	}
}
