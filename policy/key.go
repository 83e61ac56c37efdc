package policy

// Keys are the values of attributes as text: name=value, joined by '&', in the order of the
// names. In names there are none of the bytes that mean something here, and in values
// they are escaped. So two compositions of attributes never have one key.
//
//	org=acme&user=42
//	{org=acme}&user=42     colocate: org
//	all                    no attribute
//	missing                an attribute is missing, and the rule has ShareMissing
//	{org=acme}&missing     the same with colocate: org, which lies where the others lie
const (
	keyOfAll     = "all"
	keyOfMissing = "missing"
)

// keyOf returns the key of a request, and whether an attribute is missing. It makes each
// key of a request once.
func (c *Compiled) keyOf(s *resolution, number int) (text string, missing bool) {
	for i := range s.keys {
		if s.keys[i].number == number {
			return s.keys[i].text, s.keys[i].missing
		}
	}
	text, missing = c.makeKey(s, &c.keys[number])
	s.keys = append(s.keys, madeKey{number, text, missing})
	return text, missing
}

func (c *Compiled) makeKey(s *resolution, k *key) (text string, missing bool) {
	if k.colocate < 0 && len(k.attributes) == 0 {
		return keyOfAll, false
	}
	b := s.text[:0]
	if k.colocate >= 0 {
		if !s.values[k.colocate].set {
			return keyOfMissing, true
		}
		b = append(b, '{')
		b = c.appendPair(b, s, k.colocate)
		b = append(b, '}')
	}
	tag := len(b)
	for _, number := range k.attributes {
		if !s.values[number].set {
			if k.colocate < 0 {
				return keyOfMissing, true
			}
			b = append(b[:tag], "&"+keyOfMissing...)
			s.text = b
			return string(b), true
		}
		if len(b) > 0 {
			b = append(b, '&')
		}
		b = c.appendPair(b, s, number)
	}
	s.text = b
	return string(b), false
}

func (c *Compiled) appendPair(b []byte, s *resolution, number int) []byte {
	a, v := &c.attributes.all[number], &s.values[number]
	b = append(append(b, a.name...), '=')
	if a.typ == Address {
		return appendAddress(b, v.addr, a.bits)
	}
	return appendEscaped(b, v.text)
}

// appendEscaped writes the bytes with a meaning in keys as '%' and two hex digits.
func appendEscaped(b []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		switch c := text[i]; c {
		case '%', '=', '&', '{', '}':
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}

// percentile returns 0 to 99 for a key of a rule: the same on every machine, and
// independent of the percentiles of other rules. It is FNV-1a with a final mix.
func percentile(rule, key string) int {
	h := uint64(14695981039346656037)
	for i := range len(rule) {
		h = (h ^ uint64(rule[i])) * 1099511628211
	}
	h *= 1099511628211 // a byte 0 between the two
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return int(h % 100)
}
