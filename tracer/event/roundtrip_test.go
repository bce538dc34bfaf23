package event_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"ftracelab/tracer/event"
	"ftracelab/tracer/event/events"
)

// codec reads a record and writes it again.
type codec struct {
	typ  *event.Type
	copy func(data []byte) ([]byte, error)
}

func codecOf[T any](d *event.Def[T]) codec {
	return codec{d.Type, func(data []byte) ([]byte, error) {
		v := new(T)
		if err := d.Decode(data, v); err != nil {
			return nil, err
		}
		return d.Append(nil, event.ParseCommon(data), v), nil
	}}
}

// codecs has every shape of record: packed, padded, dynamic, open-ended.
func codecs() map[int]codec {
	m := make(map[int]codec)
	for _, c := range []codec{
		codecOf(events.Function), codecOf(events.FuncgraphEntry), codecOf(events.FuncgraphExit), codecOf(events.UserStack),
		codecOf(events.KernelStack), codecOf(events.Bputs), codecOf(events.Bprint), codecOf(events.Print),
		codecOf(events.SchedSwitch), codecOf(events.SchedWakeup), codecOf(events.SchedWaking), codecOf(events.SchedProcessFork),
		codecOf(events.SchedProcessExec), codecOf(events.SchedProcessExit), codecOf(events.SchedMigrateTask), codecOf(events.SchedStatRuntime),
		codecOf(events.KmemCacheAlloc), codecOf(events.KmemCacheFree), codecOf(events.Kmalloc), codecOf(events.Kfree),
		codecOf(events.MmPageAlloc), codecOf(events.MmPageFree), codecOf(events.RssStat),
		codecOf(events.IRQHandlerEntry), codecOf(events.IRQHandlerExit), codecOf(events.SoftirqEntry), codecOf(events.LocalTimerEntry),
		codecOf(events.HrtimerInit), codecOf(events.HrtimerStart), codecOf(events.HrtimerExpireEntry), codecOf(events.HrtimerCancel),
		codecOf(events.TimerStart), codecOf(events.TimerExpireEntry), codecOf(events.TickStop),
		codecOf(events.WorkqueueQueueWork), codecOf(events.WorkqueueExecuteStart), codecOf(events.SysEnter), codecOf(events.SysExit),
		codecOf(events.SignalGenerate), codecOf(events.SignalDeliver), codecOf(events.TaskNewtask), codecOf(events.TaskRename),
		codecOf(events.PageFaultUser),
	} {
		m[c.typ.ID] = c
	}
	return m
}

// same compares two records by what the format file names: the kernel leaves
// in the padding whatever was there.
func same(typ *event.Type, a, b []byte) bool {
	if !bytes.Equal(a[:event.CommonSize], b[:event.CommonSize]) {
		return false
	}
	for i := range typ.Fields {
		if f := &typ.Fields[i]; f.Uint(a) != f.Uint(b) || !bytes.Equal(f.Bytes(a), f.Bytes(b)) {
			return false
		}
	}
	return true
}

// Records of the kernel, decoded and encoded, come out with the same length
// and the same fields, dynamic data at the same offsets.
func TestKernelRecordsRoundTrip(t *testing.T) {
	oracle := oracleDir(t)
	dirs, err := filepath.Glob(filepath.Join(oracle, "debian/*/*/cpu*.raw*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	byID, seen, total := codecs(), make(map[string]int), 0
	for _, name := range dirs {
		raw := readFile(t, name)
		if len(raw) > 4<<20 {
			raw = raw[:4<<20]
		}
		for _, data := range records(t, raw, subbufSize(filepath.Dir(name))) {
			c, ok := byID[int(event.ParseCommon(data).Type)]
			if !ok {
				continue
			}
			again, err := c.copy(data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			total++
			// The ring buffer keeps lengths in words of 4 bytes; print ends before it does, at
			// its NUL.
			if rounded := (len(again) + 3) &^ 3; rounded != len(data) && c.typ != events.Print.Type {
				t.Fatalf("%s: %s: %d bytes, the kernel's has %d", name, c.typ, len(again), len(data))
			}
			if full := append(again, 0, 0, 0)[:max(len(data), len(again))]; c.typ != events.Print.Type && !same(c.typ, data, full[:len(data)]) {
				t.Fatalf("%s: %s:\n% x, the kernel's is\n% x", name, c.typ, again, data)
			}
			seen[c.typ.String()]++
		}
	}
	for _, c := range byID {
		if seen[c.typ.String()] == 0 {
			t.Logf("%s: no record in the captures", c.typ)
		}
	}
	t.Logf("%d records of %d types", total, len(seen))
	if len(seen) < 35 || total < 100000 {
		t.Errorf("only %d records of %d types", total, len(seen))
	}
}
