package traffic

import (
	"cmp"
	"strconv"

	"github.com/weirgo/weir/sim/random"
)

// Keys is whom requests are for, as data. A field that its kind does not take is
// refused; one that is left out takes the default in brackets.
type Keys struct {
	// Kind is one of
	//   - one: every request is for the key Name [key];
	//   - hot: one key takes Share [0.9], the other N evenly share the rest;
	//   - zipf: of N keys, the i-th is chosen with a weight of 1/i^Alpha;
	//   - uniform: of N keys, each equally likely;
	//   - spray: a new key each time;
	//   - client: each client has its own.
	// Left out it is one.
	Kind string `yaml:"kind,omitempty"`
	// Name is what the key is called, or what the names of all keys begin with
	// [key]: "key-0" is the first. The hot key is "key-hot".
	Name string `yaml:"name,omitempty"`
	// N is how many keys there are, from 1 to 1000000; required where used.
	N int64 `yaml:"n,omitempty"`
	// Share is the part of the requests that the hot key takes, above 0 to 1.
	Share Decimal `yaml:"share,omitempty"`
	// Alpha is the exponent of zipf, from 0 (all equal) to 2; required there.
	Alpha *Decimal `yaml:"alpha,omitempty"`
}

// KeyPicker names the key of each request.
type KeyPicker interface {
	// Key returns the key of the next request. Client is the number of who
	// sends it, from 0; only the kind client looks at it.
	Key(client int64) string
}

var keyKinds = []kind[func(Keys, *random.Stream) (KeyPicker, error)]{
	{"one", "name", newOneKey},
	{"hot", "name n share", newHotKey},
	{"zipf", "name n alpha", newZipf},
	{"uniform", "name n", newUniformKeys},
	{"spray", "name", newSpray},
	{"client", "name", newClientKeys},
}

// NewKeys returns the picker of keys. It draws from the stream, which is its own. The
// error is an *algorithm.ParameterError. Where the keys are finite in number, their
// names are made here and Key does not allocate.
func NewKeys(k Keys, draw *random.Stream) (KeyPicker, error) {
	kindName := cmp.Or(k.Kind, "one")
	chosen, err := choose("keys", kindName, keyKinds, k)
	if err != nil {
		return nil, err
	}
	k.Kind = kindName
	defaults(&k.Name, "key")
	return chosen.build(k, draw)
}

// maxKeys is the largest table of keys.
const maxKeys = 1_000_000

// table makes the names of n keys.
func (k Keys) table() ([]string, error) {
	if err := between("keys "+k.Kind, "n", k.N, 1, maxKeys); err != nil {
		return nil, err
	}
	names := make([]string, k.N)
	for i := range names {
		names[i] = keyName(k.Name, int64(i))
	}
	return names, nil
}

func keyName(name string, i int64) string { return name + "-" + strconv.FormatInt(i, 10) }

type oneKey string

func newOneKey(k Keys, _ *random.Stream) (KeyPicker, error) { return oneKey(k.Name), nil }

func (k oneKey) Key(int64) string { return string(k) }

type uniformKeys struct {
	names []string
	draw  *random.Stream
}

func newUniformKeys(k Keys, draw *random.Stream) (KeyPicker, error) {
	names, err := k.table()
	return &uniformKeys{names, draw}, err
}

func (u *uniformKeys) Key(int64) string { return u.names[u.draw.N(int64(len(u.names)))] }

// hotKey gives one key a share of the requests, exactly.
type hotKey struct {
	others uniformKeys
	hot    string
	share  int64 // millionths
}

func newHotKey(k Keys, draw *random.Stream) (KeyPicker, error) {
	defaults(&k.Share, 900_000)
	if err := between("keys "+k.Kind, "share", k.Share, 1, one); err != nil {
		return nil, err
	}
	names, err := k.table()
	return &hotKey{uniformKeys{names, draw}, k.Name + "-hot", int64(k.Share)}, err
}

func (h *hotKey) Key(client int64) string {
	if h.others.draw.Millionths(h.share) {
		return h.hot
	}
	return h.others.Key(client)
}

// spray never uses a key twice.
type spray struct {
	name string
	next int64
}

func newSpray(k Keys, _ *random.Stream) (KeyPicker, error) { return &spray{name: k.Name}, nil }

func (s *spray) Key(int64) string {
	s.next++
	return keyName(s.name, s.next-1)
}

// clientKeys gives each client its own key. Names are kept once they are made.
type clientKeys struct {
	name  string
	names []string
}

func newClientKeys(k Keys, _ *random.Stream) (KeyPicker, error) {
	return &clientKeys{name: k.Name}, nil
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
