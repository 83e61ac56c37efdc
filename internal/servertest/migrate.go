package servertest

import "strconv"

// Slot returns the hash slot of a key.
func (c *Cluster) Slot(key string) int {
	c.tb.Helper()
	slot, is := c.nodes[0].Do("CLUSTER", "KEYSLOT", key).(int64)
	if !is || slot < 0 || slot >= Slots {
		c.tb.Fatalf("servertest: slot %d of a key", slot)
	}
	return int(slot)
}

// owner returns the node that has a slot.
func (c *Cluster) owner(slot int) *Server {
	if moved, has := c.moved[slot]; has {
		return moved
	}
	for i, s := range c.nodes {
		if slot < (i+1)*Slots/len(c.nodes) {
			return s
		}
	}
	panic("a slot beyond the last")
}

// Migrate moves a slot with its keys to another node, as redis-cli --cluster
// reshard does, while clients use it: each key is on one node at any time. during,
// where it is not nil, is called while the slot belongs to both nodes, before the
// first key moves.
func (c *Cluster) Migrate(slot int, to *Server, during func()) {
	c.tb.Helper()
	from := c.owner(slot)
	if from == to {
		return
	}
	number := strconv.Itoa(slot)
	fromID, _ := from.Do("CLUSTER", "MYID").(string)
	toID, _ := to.Do("CLUSTER", "MYID").(string)
	to.Do("CLUSTER", "SETSLOT", number, "IMPORTING", fromID)
	from.Do("CLUSTER", "SETSLOT", number, "MIGRATING", toID)
	if during != nil {
		during()
	}
	for {
		keys, _ := from.Do("CLUSTER", "GETKEYSINSLOT", number, "10").([]any)
		if len(keys) == 0 {
			break
		}
		command := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port()), "", "0", strconv.FormatInt(patience.Milliseconds(), 10), "KEYS"}
		for _, key := range keys {
			name, _ := key.(string)
			command = append(command, name)
		}
		from.Do(command...)
	}
	// The new owner first: at no time would a node send clients to one that refuses.
	to.Do("CLUSTER", "SETSLOT", number, "NODE", toID)
	for _, s := range c.nodes { // replicas learn it from them
		if s != to {
			s.Do("CLUSTER", "SETSLOT", number, "NODE", toID)
		}
	}
	if c.moved == nil {
		c.moved = map[int]*Server{}
	}
	c.moved[slot] = to
}
