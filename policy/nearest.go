package policy

// nearest returns the word of a list that another was perhaps meant to be: it differs in
// one letter that is wrong, missing, too much, or changed places with its neighbour. ""
// where there is none.
func nearest(word string, among []string) string {
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
