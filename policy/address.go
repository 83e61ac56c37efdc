package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// defaultIPv6Prefix is how many bits of an IPv6 address belong to one customer.
const defaultIPv6Prefix = 64

// parseAddress reads an address with or without a port, brackets and a zone. The result
// has no zone, and is an IPv4 address where it was one in IPv6 form. It is not valid where
// the text is no address.
func parseAddress(text string) netip.Addr {
	a, err := netip.ParseAddr(unbracket(text))
	if err != nil {
		p, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		a = p.Addr()
	}
	return a.Unmap().WithZone("")
}

func unbracket(text string) string {
	if inside, found := strings.CutPrefix(text, "["); found {
		if inside, found := strings.CutSuffix(inside, "]"); found {
			return inside
		}
	}
	return text
}

// appendAddress appends what an address is in keys: an IPv4 address itself, an IPv6
// address its prefix of so many bits.
func appendAddress(b []byte, a netip.Addr, bits int) []byte {
	if !a.IsValid() {
		return append(b, invalidAddress...)
	}
	if a.Is4() || bits == a.BitLen() {
		return a.AppendTo(b)
	}
	return netip.PrefixFrom(a, bits).Masked().AppendTo(b)
}

// invalidAddress stands for every text that is no address.
const invalidAddress = "invalid"

// prefixTable maps prefixes to numbers, and finds all that contain an address by one
// look-up for each length of prefix in the table.
type prefixTable struct {
	lengths4, lengths6 []int
	numbers            map[netip.Prefix][]int32
}

func (t *prefixTable) add(p netip.Prefix, number int32) {
	if t.numbers == nil {
		t.numbers = map[netip.Prefix][]int32{}
	}
	lengths := &t.lengths6
	if p.Addr().Is4() {
		lengths = &t.lengths4
	}
	if !slices.Contains(*lengths, p.Bits()) {
		*lengths = append(*lengths, p.Bits())
	}
	t.numbers[p] = append(t.numbers[p], number)
}

// appendAll appends the numbers of all prefixes that contain a.
func (t *prefixTable) appendAll(to []int32, a netip.Addr) []int32 {
	for _, bits := range t.lengths(a) {
		to = append(to, t.numbers[netip.PrefixFrom(a, bits).Masked()]...)
	}
	return to
}

func (t *prefixTable) contains(a netip.Addr) bool {
	for _, bits := range t.lengths(a) {
		if _, found := t.numbers[netip.PrefixFrom(a, bits).Masked()]; found {
			return true
		}
	}
	return false
}

func (t *prefixTable) lengths(a netip.Addr) []int {
	switch {
	case !a.IsValid():
		return nil
	case a.Is4():
		return t.lengths4
	}
	return t.lengths6
}
