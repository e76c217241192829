package claiming

import "sluice/internal/wire"

// idMemory remembers counts by message ID, the latest of them: an older message
// that is forgotten counts anew, which errs on the side of poison.
type idMemory struct {
	order []string
	count map[string]int64
}

const rememberAtMost = 500

func rememberAll(ids []wire.RememberedID) idMemory {
	var m idMemory
	for _, id := range ids {
		m.set(id.ID, id.N)
	}
	return m
}

func (m *idMemory) get(id string) int64 { return m.count[id] }

func (m *idMemory) set(id string, n int64) {
	if m.count == nil {
		m.count = map[string]int64{}
	}
	if _, known := m.count[id]; !known {
		m.order = append(m.order, id)
	}
	m.count[id] = n
	for len(m.order) > rememberAtMost {
		delete(m.count, m.order[0])
		m.order = m.order[1:]
	}
}

func (m *idMemory) forget(id string) {
	if _, known := m.count[id]; !known {
		return
	}
	delete(m.count, id)
	for i, other := range m.order {
		if other == id {
			m.order = append(m.order[:i:i], m.order[i+1:]...)
			return
		}
	}
}

func (m *idMemory) list() []wire.RememberedID {
	ids := make([]wire.RememberedID, len(m.order))
	for i, id := range m.order {
		ids[i] = wire.RememberedID{ID: id, N: m.count[id]}
	}
	return ids
}
