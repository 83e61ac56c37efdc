package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// MaxKeys is the most keys that there can be.
const MaxKeys = 10_000_000

// KeyForms are the texts of keys, for messages.
const KeyForms = "zipf:EXPONENT:N, uniform:N or one:KEY, with an exponent from 0.1 to 10 and 1 to 10000000 keys"

// Keys are whom requests are for.
type Keys struct {
	// Prefix stands before the number of a key.
	Prefix string
	n      int
	one    string    // the only key, where n is 0
	sums   []float64 // of the weights of the keys; nil where all are alike
	law    string
}

// ParseKeys reads keys: one of KeyForms. Its error does not hold a key.
func ParseKeys(text string) (*Keys, error) {
	law, rest, _ := strings.Cut(text, ":")
	switch law {
	case "one":
		if rest == "" || len(rest) > 1024 || strings.ContainsRune(rest, '\ufffd') {
			return nil, fmt.Errorf("one: the key has %d bytes: must be 1 to 1024 bytes of UTF-8", len(rest))
		}
		return &Keys{one: rest, law: law}, nil
	case "uniform":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > MaxKeys {
			break
		}
		return &Keys{n: n, law: text}, nil
	case "zipf":
		exponent, number, _ := strings.Cut(rest, ":")
		s, errS := strconv.ParseFloat(exponent, 64)
		n, err := strconv.Atoi(number)
		if errS != nil || err != nil || !(s >= 0.1 && s <= 10) || n < 1 || n > MaxKeys {
			break
		}
		k := &Keys{n: n, law: text, sums: make([]float64, n)}
		sum := 0.0
		for i := range k.sums {
			sum += math.Pow(float64(i+1), -s)
			k.sums[i] = sum
		}
		return k, nil
	default:
		return nil, fmt.Errorf("there is no such law of keys: must be %s", KeyForms)
	}
	return nil, fmt.Errorf("%q is not allowed: must be %s", text, KeyForms)
}

// String is the text without a key.
func (k *Keys) String() string { return k.law }

// draw returns the key of a request.
func (k *Keys) draw(from *rand.Rand) string {
	i := 0
	switch {
	case k.n == 0:
		return k.one
	case k.sums == nil:
		i = from.IntN(k.n)
	default:
		i, _ = slices.BinarySearch(k.sums, from.Float64()*k.sums[k.n-1])
		i = min(i, k.n-1)
	}
	return k.Prefix + strconv.Itoa(i+1)
}
