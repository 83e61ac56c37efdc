package traffic

import (
	"strconv"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Keys names the key of each request.
type Keys interface {
	// Key returns the key of the next request. client is the number of its client,
	// from 0; only the kind client looks at it.
	Key(client int64) string
}

// keys are Keys that one function draws.
type keys func(client int64) string

func (k keys) Key(client int64) string { return k(client) }

// maxKeys is the largest table of keys.
const maxKeys = 1_000_000

// NewKeys returns the Keys of a traffic. They draw from the stream, which is their own.
// Where the keys are finite in number, their names are made here and Key does not
// allocate.
func NewKeys(k scenario.Keys, draw *random.Stream) Keys {
	k = scenario.Complete(k)
	names := make([]string, k.N)
	for i := range names {
		names[i] = keyName(k.Name, int64(i))
	}
	switch k.Kind {
	case "one":
		return keys(func(int64) string { return k.Name })
	case "hot":
		hot := k.Name + "-hot"
		return keys(func(int64) string {
			if draw.Millionths(int64(k.Share)) {
				return hot
			}
			return names[draw.N(k.N)]
		})
	case "zipf":
		pick := newWeighted(zipfWeights(k.N, *k.Alpha), draw)
		return keys(func(int64) string { return names[pick.next()] })
	case "uniform":
		return keys(func(int64) string { return names[draw.N(k.N)] })
	case "spray":
		next := int64(-1)
		return keys(func(int64) string {
			next++
			return keyName(k.Name, next)
		})
	case "client":
		return &clientKeys{name: k.Name}
	}
	panic("traffic: no keys " + k.Kind)
}

func keyName(name string, i int64) string { return name + "-" + strconv.FormatInt(i, 10) }

// clientKeys gives each client its own key. Names are kept once they are made.
type clientKeys struct {
	name  string
	names []string
}

func (c *clientKeys) Key(client int64) string {
	if client < 0 || client >= maxKeys { // too many to keep
		return keyName(c.name, client)
	}
	for n := int64(len(c.names)); n <= client; n++ {
		c.names = append(c.names, keyName(c.name, n))
	}
	return c.names[client]
}
