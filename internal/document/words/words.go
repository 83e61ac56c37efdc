// Package words knows the words of documents: what a name is, which word another was meant to
// be, and how mistakes are written.
package words

import "strings"

// Nearest returns the word of a list that another was perhaps meant to be: it differs in
// one letter that is wrong, missing, too much, or changed places with its neighbour. ""
// where there is none.
func Nearest(word string, among []string) string {
	for _, other := range among {
		if other != word && oneLetter(word, other) {
			return other
		}
	}
	return ""
}

// oneLetter reports whether two words of 3 bytes or more differ in one letter.
func oneLetter(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 3 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// IsName reports whether text is a name as documents have them: see NameAllowed.
func IsName(text string) bool {
	if len(text) < 1 || len(text) > 64 {
		return false
	}
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

// NameAllowed says in an error what a name is.
const NameAllowed = "1 to 64 of a-z, A-Z, 0-9, '-', '_', '.', from a letter or a digit on"

// IsToken reports whether text is a token of RFC 9110, as names of headers are.
func IsToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}
