package fusefs

// OpenFiles is how many files and folders clients have open.
func (m *Mount) OpenFiles() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.files)
}

// HelperPID is a helper's process.
func HelperPID(h *Helper) int { return h.cmd.Process.Pid }

// Nodes is how many files and folders the kernel knows.
func (m *Mount) Nodes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.nodes)
}
