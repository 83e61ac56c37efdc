package trace

import "bytes"

// cloudFrontLog reads the standard log of AWS CloudFront: a line of values with tabs between them, in the order that the last line
// before it of the form
//
//	#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem …
//
// has given. The files of several hours may stand one behind the other, also where their fields differ. These are read:
//
//   - date and time, in UTC: when the answer was finished, in whole seconds. time-taken is not subtracted, since most of it
//     would be lost in the seconds.
//   - c-ip: the host
//   - cs-uri-stem: the path
//   - cs(User-Agent): the user agent
//
// The last three are decoded once, from %HH. What the client itself had encoded was encoded once more by CloudFront, and so stays
// encoded: %2520 is %20. Lines that begin with # are no requests; of those only #Fields says anything.
type cloudFrontLog struct {
	key    Key
	text   []byte // scratch for a key that does not stand in the line as it is
	stamp  []byte // scratch for date and time
	places [cloudFrontFields]int
	width  int // how many fields a line has; 0 while that is not known
	values [cloudFrontFields][]byte
}

const (
	cloudFrontDate = iota
	cloudFrontTime
	cloudFrontHost
	cloudFrontPath
	cloudFrontAgent
	cloudFrontFields
)

var cloudFrontNames = [cloudFrontFields]string{"date", "time", "c-ip", "cs-uri-stem", "cs(User-Agent)"}

const (
	reasonNoFields    = "there is no usable #Fields line before"
	reasonFieldsTwice = "#Fields names a field twice"
	reasonFieldsNeed  = "#Fields does not name date, time and c-ip"
	reasonWidth       = "the number of fields is not that of the #Fields line"
	reasonNoHostField = "c-ip is empty"
	reasonNoStem      = "#Fields does not name cs-uri-stem"
	reasonNoAgentName = "#Fields does not name cs(User-Agent)"
	reasonPercent     = "a value holds a % that is not followed by two hexadecimal digits"
)

func (c *cloudFrontLog) parse(line []byte, f *fields) (reason string) {
	if line[0] == '#' {
		if names, ok := bytes.CutPrefix(line, []byte("#Fields:")); ok {
			return c.header(names)
		}
		return isHeader
	}
	if c.width == 0 {
		return reasonNoFields
	}
	if !c.split(line) {
		return reasonWidth
	}
	c.stamp = append(append(append(c.stamp[:0], c.values[cloudFrontDate]...), ' '), c.values[cloudFrontTime]...)
	at, reason := parseStamp(c.stamp)
	if reason != "" {
		return reason
	}
	f.cost = 1
	if f.at, reason = at.at(); reason != "" {
		return reason
	}
	f.key, reason = keyOf(c.key, c, &c.text)
	return reason
}

// header takes the names of a #Fields line. Where they cannot be used, neither can the lines after it.
func (c *cloudFrontLog) header(line []byte) (reason string) {
	names := bytes.Fields(line)
	c.width = 0
	for i, want := range cloudFrontNames {
		c.places[i] = -1
		for place, name := range names {
			if string(name) != want {
				continue
			}
			if c.places[i] >= 0 {
				return reasonFieldsTwice
			}
			c.places[i] = place
		}
	}
	if c.places[cloudFrontDate] < 0 || c.places[cloudFrontTime] < 0 || c.places[cloudFrontHost] < 0 {
		return reasonFieldsNeed
	}
	c.width = len(names)
	return isHeader
}

// split finds the values of a line.
func (c *cloudFrontLog) split(line []byte) bool {
	c.values = [cloudFrontFields][]byte{}
	n := 0
	for more := true; more; n++ {
		var value []byte
		value, line, more = bytes.Cut(line, []byte("\t"))
		for i, place := range c.places {
			if place == n {
				c.values[i] = value
			}
		}
	}
	return n == c.width
}

func (c *cloudFrontLog) host() ([]byte, string) {
	return c.decoded(cloudFrontHost, reasonNoHostField, reasonNoHostField)
}

func (c *cloudFrontLog) path() ([]byte, string) {
	return c.decoded(cloudFrontPath, reasonNoStem, reasonPathNone)
}

func (c *cloudFrontLog) agent() ([]byte, string) {
	return c.decoded(cloudFrontAgent, reasonNoAgentName, reasonNoAgent)
}

func (c *cloudFrontLog) decoded(field int, unnamed, empty string) ([]byte, string) {
	text, ok := percentDecode(c.values[field])
	switch {
	case c.places[field] < 0:
		return nil, unnamed
	case !ok:
		return nil, reasonPercent
	case len(text) == 0:
		return nil, empty
	}
	return text, ""
}

// percentDecode decodes %HH. It returns the text itself where nothing is encoded.
func percentDecode(text []byte) (decoded []byte, ok bool) {
	if bytes.IndexByte(text, '%') < 0 {
		return text, true
	}
	decoded = make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			decoded = append(decoded, text[i])
			continue
		}
		if i+2 >= len(text) {
			return nil, false
		}
		high, ok1 := hexDigit(text[i+1])
		low, ok2 := hexDigit(text[i+2])
		if !ok1 || !ok2 {
			return nil, false
		}
		decoded = append(decoded, high<<4|low)
		i += 2
	}
	return decoded, true
}

func looksCloudFront(line []byte) bool {
	return bytes.HasPrefix(line, []byte("#Fields:")) || bytes.HasPrefix(line, []byte("#Version:"))
}
