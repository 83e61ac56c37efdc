package algorithm

import (
	"slices"
	"strconv"
	"strings"
)

// MaxWord bounds every word of a state, in both directions: what a Lua number
// holds exactly.
const MaxWord int64 = 1<<53 - 1

// MaxWords is how many words a state can have.
const MaxWords = 4

// State is what an algorithm remembers of one key: nothing (the key is fresh),
// one to four whole numbers, or the log of a sliding window. It is an immutable
// value of 32 bytes; copies are independent. The zero State is fresh.
//
// A state that is present has at least its first word, even where that is 0:
// only no words at all is fresh.
//
// Compare states with Equal; == also compares where they lie in memory.
type State struct {
	w0, w1, w2 int64
	// shape says how the words are used; nil is fresh. Shapes are shared
	// between the states of a kind, so that three words and this pointer
	// fit into four registers.
	shape *shape
}

// shape is the part of a State that is the same for many states: how many of
// the words count, and the fourth of them. For a log it is the memory that
// successive states share.
type shape struct {
	words int
	w3    int64
	log   *logBuffer
}

var oneWord, twoWords, threeWords = &shape{words: 1}, &shape{words: 2}, &shape{words: 3}

// NewState returns the state of the given words; without words, the fresh
// state. It allocates for four words only. It panics on more than MaxWords:
// that is a mistake in the algorithm, not in its input. Words beyond MaxWord
// cannot be stored by every store; the laws of package conformance report them.
func NewState(words ...int64) State {
	switch len(words) {
	case 0:
		return State{}
	case 1:
		return State{w0: words[0], shape: oneWord}
	case 2:
		return State{w0: words[0], w1: words[1], shape: twoWords}
	case 3:
		return State{words[0], words[1], words[2], threeWords}
	case 4:
		return State{words[0], words[1], words[2], &shape{words: 4, w3: words[3]}}
	}
	panic("algorithm: NewState: " + strconv.Itoa(len(words)) + " words, at most 4")
}

// Fresh reports whether s is the state of a key that was never used.
func (s State) Fresh() bool { return s.shape == nil }

// Words returns how many words s has: 0 when fresh, and 0 for a log, which
// holds entries instead.
func (s State) Words() int {
	if s.shape == nil {
		return 0
	}
	return s.shape.words
}

// Word returns the word at i, counted from 0, and 0 where s has no such word.
func (s State) Word(i int) int64 {
	if i < 0 || i >= s.Words() {
		return 0
	}
	switch i {
	case 0:
		return s.w0
	case 1:
		return s.w1
	case 2:
		return s.w2
	}
	return s.shape.w3
}

// Equal reports whether s and t are the same state: the same text.
func (s State) Equal(t State) bool {
	if s.isLog() || t.isLog() {
		return slices.Equal(s.entries(), t.entries())
	}
	if s.Words() != t.Words() {
		return false
	}
	for i := range s.Words() {
		if s.Word(i) != t.Word(i) {
			return false
		}
	}
	return true
}

// String returns the text form of s; see AppendText.
func (s State) String() string {
	text, _ := s.AppendText(nil)
	return string(text)
}

// AppendText appends the text form of s, which stores keep and compare byte for
// byte: decimal words separated by one space, such as "1790000000123457 3".
// The entries of a log are written as their instant, followed by ":" and the
// cost where that is not 1; where there is such an entry, "+" and the sum of all
// cost - 1 come first: "+4 1790000000000000:5 1790000000123457". The fresh state
// is empty. The error is always nil.
func (s State) AppendText(text []byte) ([]byte, error) {
	if s.isLog() {
		return appendEntries(text, s.entries()), nil
	}
	for i := range s.Words() {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, s.Word(i), 10)
	}
	return text, nil
}

// ParseState reads the text form of a state. It accepts exactly what AppendText
// writes: no sign but a minus and the plus before the sum of a log, no leading
// zeros, no other spacing, no number beyond MaxWord, no sum that is not the sum.
// Anything else is a *ParameterError, so that a damaged state is never taken for
// a fresh one. Whether a kind can have written the state is for its CheckState
// to say.
//
// Up to four plain numbers are read as words. The sliding log takes them for
// entries of cost 1, so the text alone need not tell which kind wrote it.
func ParseState(text string) (State, error) {
	if text == "" {
		return State{}, nil
	}
	if strings.Count(text, " ") >= MaxWords || strings.Contains(text, ":") {
		return parseLog(text)
	}
	var words [MaxWords]int64
	n := 0
	for field := range strings.SplitSeq(text, " ") {
		w, ok := parseWord(field)
		if !ok {
			return State{}, refuseState(field)
		}
		words[n] = w
		n++
	}
	return NewState(words[:n]...), nil
}

// parseWord reads a number as strconv.AppendInt writes it.
func parseWord(field string) (int64, bool) {
	w, err := strconv.ParseInt(field, 10, 64)
	digits := strings.TrimPrefix(field, "-")
	canonical := err == nil && (digits[0] != '0' || field == "0") && digits[0] != '+'
	return w, canonical && -MaxWord <= w && w <= MaxWord
}

// refuseState quotes at most the first bytes of a word: a foreign value may be
// long, and may be personal data.
func refuseState(word string) error {
	const most = 24
	if len(word) > most {
		word = word[:most] + "…"
	}
	return &ParameterError{
		Of: "state", Field: "word", Value: strconv.Quote(word),
		Allowed: "a decimal number without leading zeros, at most 2^53 - 1 in size",
	}
}

// refuseShape says that a state has the wrong number of words for its kind.
func refuseShape(s State) error {
	shape := strconv.Itoa(s.Words()) + " words"
	if s.isLog() {
		shape = "a log"
	}
	return &ParameterError{Of: "state", Field: "layout", Value: shape, Allowed: "as this kind writes it"}
}
