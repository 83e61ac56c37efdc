package words

import "testing"

func TestNearestIsOneLetterAway(t *testing.T) {
	among := []string{"limit", "limits", "key"}
	for word, want := range map[string]string{
		"limt": "limit", "limiit": "limit", "lmiit": "limit", "lumit": "limit", "limitz": "limit", "kei": "key", "ke": "key",
		"limit": "limits", "lmti": "", "": "", "kyes": "", "mode": "",
	} {
		if got := Nearest(word, among); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestATokenIsTheNameOfAHeader(t *testing.T) {
	for text, want := range map[string]bool{
		"RateLimit-Limit": true, "x_1": true, "!#$%&'*+-.^_`|~": true, "": false, "a b": false, "a:b": false, "é": false, "a\n": false, "(a)": false,
	} {
		if IsToken(text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}
