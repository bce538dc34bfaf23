package machine

// smi are system management interrupts: the firmware takes all CPUs at once, and
// the kernel sees nothing of it but the time that is missing.
type smi struct {
	every, length Time // on average; no SMIs if every is 0
	at, until     Time // the next one, the end of the last
}

// SetSMI lets the firmware take the machine once every so often, for length, both
// on average. Their times come from a random stream of their own.
func (m *Machine) SetSMI(every, length Time) {
	m.smi = smi{every: every, length: length, at: never}
	if every > 0 {
		m.smi.at = m.now + m.between("smi", every)
	}
}

// between is a time that is mean on average, between a half of it and one and a half.
func (m *Machine) between(stream string, mean Time) Time {
	return mean/2 + m.Rand(stream).Uint64N(mean+1)
}

// manage is one system management interrupt.
func (m *Machine) manage() {
	length := m.between("smi", m.smi.length)
	m.smi.until = m.smi.at + length
	for _, c := range m.cpus {
		if c.opDue != never {
			c.opDue += length
		}
	}
	m.smi.at += length + m.between("smi", m.smi.every)
}
