package machine

// smi are system management interrupts. In each of them the firmware takes all CPUs at
// once, and all that the kernel sees of it is the missing time.
type smi struct {
	every, length Time // means; every 0: there are no SMIs
	at, until     Time // when the next one comes, and when the last one ended
}

// SetSMI lets the firmware take the machine. every is the mean time between two SMIs,
// length the mean length of one. The times come from a random stream of their own.
func (m *Machine) SetSMI(every, length Time) {
	m.smi = smi{every: every, length: length, at: never}
	m.touchAll()
	if every > 0 {
		m.smi.at = m.now + m.between("smi", every)
	}
}

// between draws a time between half of mean and one and a half times mean.
func (m *Machine) between(stream string, mean Time) Time {
	return mean/2 + m.Rand(stream).Uint64N(mean+1)
}

// manage lets one system management interrupt happen.
func (m *Machine) manage() {
	length := m.between("smi", m.smi.length)
	m.smi.until = m.smi.at + length
	for _, c := range m.cpus {
		if c.opDue != never {
			c.opDue += length
		}
	}
	m.smi.at += length + m.between("smi", m.smi.every)
	m.touchAll()
}
