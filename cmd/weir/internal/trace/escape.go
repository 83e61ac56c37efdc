package trace

import "bytes"

// unescape decodes a quoted field as Apache and nginx write it: \" and \\, the C escapes \b \n \r \t \v \f, and \xHH for any
// byte. It returns the field itself where nothing is escaped. Another escape gives false: neither server writes it,
// and if it were kept as it is, then it would give the same bytes as its escaped form.
func unescape(field []byte) (text []byte, ok bool) {
	i := bytes.IndexByte(field, '\\')
	if i < 0 {
		return field, true
	}
	text = append(make([]byte, 0, len(field)), field[:i]...)
	for ; i < len(field); i++ {
		c := field[i]
		if c != '\\' {
			text = append(text, c)
			continue
		}
		if i++; i == len(field) {
			return nil, false
		}
		switch c = field[i]; c {
		case '"', '\\':
		case 'b':
			c = '\b'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'v':
			c = '\v'
		case 'f':
			c = '\f'
		case 'x':
			if i+2 >= len(field) {
				return nil, false
			}
			high, ok1 := hexDigit(field[i+1])
			low, ok2 := hexDigit(field[i+2])
			if !ok1 || !ok2 {
				return nil, false
			}
			c = high<<4 | low
			i += 2
		default:
			return nil, false
		}
		text = append(text, c)
	}
	return text, true
}
