package valkeystore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

// slots are the servers of a cluster by hash slot, as CLUSTER SLOTS tells: valkey-go
// does not say where it sends a command. They need not be current: they keep apart what
// waits for different servers, and decide nothing.
type slots struct {
	table atomic.Pointer[[16384]string]
	next  atomic.Int64 // when to ask again, in ns
}

const (
	slotsKnown = 10 * time.Second // until they are asked for again
	slotsAgain = time.Second      // where there was no answer
)

// Node implements script.Locator.
func (c *client) Node(key string) string {
	now, next := time.Now().UnixNano(), c.slots.next.Load()
	if now >= next && c.slots.next.CompareAndSwap(next, now+int64(slotsAgain)) {
		go c.findSlots()
	}
	table := c.slots.table.Load()
	if table == nil {
		return ""
	}
	return table[slotOf(key)]
}

// findSlots asks some server of the cluster.
func (c *client) findSlots() {
	ctx, cancel := context.WithTimeout(context.Background(), slotsAgain)
	defer cancel()
	ranges, err := c.valkey.Do(ctx, c.valkey.B().Arbitrary("CLUSTER", "SLOTS").Build()).ToArray()
	if err != nil {
		return
	}
	table := new([16384]string)
	for _, one := range ranges {
		if err := fill(table, &one); err != nil {
			return
		}
	}
	c.slots.table.Store(table)
	c.slots.next.Store(time.Now().Add(slotsKnown).UnixNano())
}

// fill enters a range of slots: first, last, and its servers, the primary first, each
// with its address and port.
func fill(table *[16384]string, one *valkey.ValkeyMessage) error {
	parts, err := one.ToArray()
	if err != nil || len(parts) < 3 {
		return fmt.Errorf("valkeystore: CLUSTER SLOTS: %d parts: %w", len(parts), err)
	}
	first, err := parts[0].AsInt64()
	if err != nil {
		return err
	}
	last, err := parts[1].AsInt64()
	if err != nil {
		return err
	}
	server, err := parts[2].ToArray()
	if err != nil || len(server) < 2 || first < 0 || last >= int64(len(table)) {
		return fmt.Errorf("valkeystore: CLUSTER SLOTS: %d to %d: %w", first, last, err)
	}
	host, err := server[0].ToString()
	if err != nil {
		return err
	}
	port, err := server[1].AsInt64()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s:%d", host, port)
	for i := first; i <= last; i++ {
		table[i] = name
	}
	return nil
}

// slotOf is the hash slot of a stored name, which has a tag in braces.
func slotOf(name string) uint16 {
	_, rest, _ := strings.Cut(name, "{")
	tag, _, _ := strings.Cut(rest, "}")
	crc := uint16(0)
	for i := range len(tag) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^tag[i]]
	}
	return crc % 16384
}

// crcTable is that of CRC-16/XMODEM, by which a cluster finds slots.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
