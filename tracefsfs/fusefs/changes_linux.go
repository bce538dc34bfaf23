package fusefs

import "path/filepath"

// tellChanges tells the kernel of the files that have changed. It does not wait, because the
// kernel asks this process about each of these files.
func (m *Mount) tellChanges() {
	if m.cfg.Changes == nil || !m.telling.CompareAndSwap(false, true) {
		return
	}
	names := m.cfg.Changes.take()
	if len(names) == 0 {
		m.telling.Store(false)
		return
	}
	go func() {
		defer m.telling.Store(false)
		for _, name := range names {
			// An instance may be gone by now, and with it whoever watched.
			_, _ = m.helper.do(m.ending, job{Op: opTouch, Path: filepath.Join(m.dir, name)})
		}
	}()
}
