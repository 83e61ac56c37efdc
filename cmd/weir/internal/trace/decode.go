package trace

import "bytes"

// decoder decodes what a server has written of a field, and refuses what no server writes.
type decoder func(field []byte) (text []byte, ok bool)

// text implements cutter.
func (d decoder) text(value []byte) (text []byte, fault string) {
	text, ok := d(value)
	if !ok {
		return nil, " holds an unknown escape"
	}
	return text, ""
}

// unescape decodes a quoted field as Apache and nginx write it: \" and \\, the C escapes \b \n \r \t \v \f, and \xHH for any
// byte. It returns the field itself where nothing is escaped. Another escape gives false: neither server writes it,
// and if it were kept as it is, then it would give the same bytes as its escaped form.
func unescape(field []byte) (text []byte, ok bool) {
	return replace(field, '\\', func(rest []byte) (c byte, length int) {
		const letters, decoded = `"\bnrtvf`, "\"\\\b\n\r\t\v\f"
		if len(rest) == 0 {
			return 0, 0
		}
		if rest[0] == 'x' {
			c, length = hexByte(rest[1:])
			return c, length + min(length, 1)
		}
		if i := bytes.IndexByte([]byte(letters), rest[0]); i >= 0 {
			return decoded[i], 1
		}
		return 0, 0
	})
}

// percentDecode decodes %HH once.
func percentDecode(field []byte) (text []byte, ok bool) { return replace(field, '%', hexByte) }

// hashDecode decodes #HH, as HAProxy writes it.
func hashDecode(field []byte) (text []byte, ok bool) { return replace(field, '#', hexByte) }

// verbatim is for fields in which nothing is encoded.
func verbatim(field []byte) (text []byte, ok bool) { return field, true }

// hexByte reads two hexadecimal digits.
func hexByte(rest []byte) (c byte, length int) {
	if len(rest) < 2 {
		return 0, 0
	}
	value := hexValue(rest[:2])
	if value < 0 {
		return 0, 0
	}
	return byte(value), 2
}

// replace returns a field with its escapes decoded, which begin with mark. decode is given what follows a mark, and returns the byte
// that it stands for and how much of it that is, or 0 for no escape. A field without marks is returned itself.
func replace(field []byte, mark byte, decode func(rest []byte) (c byte, length int)) (text []byte, ok bool) {
	i := bytes.IndexByte(field, mark)
	if i < 0 {
		return field, true
	}
	text = append(make([]byte, 0, len(field)), field[:i]...)
	for ; i < len(field); i++ {
		c := field[i]
		if c == mark {
			var length int
			if c, length = decode(field[i+1:]); length == 0 {
				return nil, false
			}
			i += length
		}
		text = append(text, c)
	}
	return text, true
}
