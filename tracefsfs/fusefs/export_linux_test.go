package fusefs

// OpenFiles is how many files and folders clients have open.
func (m *Mount) OpenFiles() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.files)
}
