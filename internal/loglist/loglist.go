// Package loglist reads and writes sliding logs as they lie on a server: a list whose
// elements carry more than the text of the state (docs/reference/state.md).
package loglist

import (
	"strconv"
	"strings"
)

// Text returns the text of the state that a list holds. What is not of the layout stays
// as it is, so that it is no text of a state either.
func Text(elements []string) string {
	words := make([]string, 0, len(elements)+1)
	for i, element := range elements {
		if head, summary, found := strings.Cut(element, "+"); i == 0 && found && head != "" {
			if extra, _, _ := strings.Cut(summary, ":"); extra != "0" {
				words = append(words, "+"+extra)
			}
			element = head
		}
		if parts := strings.SplitN(element, ":", 3); len(parts) == 3 {
			element = parts[0]
			if parts[1] != "1" {
				element += ":" + parts[1]
			}
		}
		words = append(words, element)
	}
	return strings.Join(words, " ")
}

// Elements returns the list that has the state of a text, where no entry has left.
func Elements(text string) []string {
	extra, words, weighted := "", strings.Split(text, " "), false
	if extra, weighted = strings.CutPrefix(words[0], "+"); weighted {
		words = words[1:]
	}
	if len(words) == 0 {
		return []string{text} // of no state
	}
	elements := make([]string, len(words))
	var sums [levels]int64
	for i, word := range words {
		elements[i] = word
		_, cost, found := strings.Cut(word, ":")
		if n, err := strconv.ParseInt(cost, 10, 64); err == nil {
			for level := range sums {
				sums[level] += n - 1
			}
		}
		shown, last := "", int64(0)
		for level, size := 0, 16; level < levels && (i+1)%size == 0; level, size = level+1, size*4 {
			last = sums[level]
			shown += ":" + strconv.FormatInt(last, 10)
			sums[level] = 0
		}
		if last > 0 && !found {
			elements[i] += ":1"
		}
		if last > 0 {
			elements[i] += shown
		}
	}
	if weighted {
		elements[0] += "+" + extra + ":0"
	}
	return elements
}

// levels is how many sizes of blocks there are: 16, 64, … 2^20 entries.
const levels = 9
