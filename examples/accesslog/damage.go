package main

import "strings"

// faults are the ways in which a line is broken, one line each. A reader of logs meets all of them in practice: a full disk, a
// crash, a wrong clock, two programs that write to one file, a client that speaks another protocol.
var faults = []struct {
	name  string
	spoil func(line string, s stream) string
}{
	{"truncated line", truncate},
	{"missing closing quote", dropLastQuote},
	{"impossible date", misdate},
	{"not a log line", foreignText},
	{"binary garbage", garbage},
}

// damage spoils one line in each fifth of the log, so that no line is hit twice.
func damage(lines []string, s stream) {
	share := len(lines) / len(faults)
	for i, fault := range faults {
		hit := i*share + s.IntN(share)
		lines[hit] = fault.spoil(lines[hit], s)
	}
}

// truncate ends the line within its time.
func truncate(line string, s stream) string {
	return line[:strings.IndexByte(line, '[')+s.between(4, 20)]
}

func dropLastQuote(line string, _ stream) string {
	return strings.TrimSuffix(line, `"`)
}

// misdate leaves a line that looks right: only who checks the date finds out.
func misdate(line string, _ stream) string {
	return strings.Replace(line, midnight.Format("[02/Jan"), "[31/Feb", 1)
}

func foreignText(string, stream) string {
	return "worker 7: out of file descriptors, restarting"
}

// garbage looks like the start of a TLS handshake that reached a plain port. It holds no end of line, since that would make two
// broken lines of one.
func garbage(_ string, s stream) string {
	bytes := []byte{0x16, 0x03, 0x01, 0x00}
	for range 36 {
		b := byte(s.IntN(256))
		if b == '\n' || b == '\r' {
			b = 0xff
		}
		bytes = append(bytes, b)
	}
	return string(bytes)
}
