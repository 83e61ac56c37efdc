package traffic

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

func keyPicker(k scenario.Keys) Keys { return NewKeys(k, random.New(1).Stream("keys")) }

// shares draws n keys and returns the part of each.
func shares(t *testing.T, k scenario.Keys, n int) map[string]float64 {
	t.Helper()
	p := keyPicker(k)
	parts := map[string]float64{}
	for range n {
		parts[p.Key(0)] += 1 / float64(n)
	}
	return parts
}

func TestKeysHaveTheirNamesAndShares(t *testing.T) {
	if got := keyPicker(scenario.Keys{}).Key(5); got != "key" {
		t.Errorf("no kind: key %s", got)
	}
	if got := keyPicker(scenario.Keys{Kind: "one", Name: "login"}).Key(0); got != "login" {
		t.Errorf("one: key %s, want login", got)
	}
	hot := shares(t, scenario.Keys{Kind: "hot", N: 10}, 100_000)
	if len(hot) != 11 || math.Abs(hot["key-hot"]-0.9) > 0.003 || math.Abs(hot["key-9"]-0.01) > 0.001 {
		t.Errorf("hot: shares %v", hot)
	}
	if all := shares(t, scenario.Keys{Kind: "hot", N: 10, Share: one}, 1000); len(all) != 1 {
		t.Errorf("hot with a share of 1: shares %v", all)
	}
	uniform := shares(t, scenario.Keys{Kind: "uniform", N: 10}, 100_000)
	for i := range int64(10) {
		if part := uniform[keyName("key", i)]; math.Abs(part-0.1) > 0.003 {
			t.Errorf("uniform: key-%d has %v", i, part)
		}
	}
}

func TestSprayNeverUsesAKeyTwice(t *testing.T) {
	p := keyPicker(scenario.Keys{Kind: "spray"})
	seen := map[string]bool{}
	for range 100_000 {
		k := p.Key(0)
		if seen[k] {
			t.Fatalf("%s comes twice", k)
		}
		seen[k] = true
	}
}

func TestClientKeysAreOneForEachClient(t *testing.T) {
	p := keyPicker(scenario.Keys{Kind: "client"})
	for _, client := range []int64{3, 0, 3, 7, maxKeys, math.MaxInt64, 7} {
		if got, want := p.Key(client), fmt.Sprintf("key-%d", client); got != want {
			t.Errorf("client %d has %s", client, got)
		}
	}
	env := testEnv()
	env.Client = 40
	l := named(t, "pareto/clients")
	s, err := NewStream(&l, env)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range take(t, s, 10_000) {
		seen[a.Key] = true
	}
	if len(seen) != 20 || !seen["caller-40"] || !seen["caller-59"] {
		t.Errorf("20 sources from client 40 on have the keys %v", seen)
	}
}

// The weights of Zipf are pinned: they come from functions of our own and must be
// the same everywhere.
func TestZipfTableIsTheSameOnEveryPlatform(t *testing.T) {
	var got strings.Builder
	for _, alpha := range []scenario.Decimal{0, 640_000, 800_000, one, 1_200_000, 2 * one} {
		fmt.Fprintf(&got, "alpha %v:", alpha)
		weights := zipfWeights(maxKeys, alpha)
		for _, i := range []int{1, 2, 3, 4, 5, 10, 100, 1000, 10_000, 100_000, 1_000_000} {
			fmt.Fprint(&got, " ", weights[i-1])
		}
		table := newWeighted(weights, nil)
		fmt.Fprintf(&got, " total %d\n", table.sums[maxKeys-1])
	}
	golden(t, "testdata/zipf.golden", got.String())
}

// Where i^α is a whole number or a square root, the weight is known exactly.
func TestZipfWeightsAreExact(t *testing.T) {
	const n = 20_000
	none, half, first, second := zipfWeights(n, 0), zipfWeights(n, one/2), zipfWeights(n, one), zipfWeights(n, 2*one)
	for i := int64(1); i <= n; i++ {
		rounded := func(power int64) int64 { return (2*zipfOne + power) / (2 * power) }
		root := new(big.Float).SetPrec(200).SetInt64(i)
		root.Quo(new(big.Float).SetPrec(200).SetInt64(zipfOne), root.Sqrt(root))
		square, _ := root.Add(root, big.NewFloat(0.5)).Int64()
		for _, w := range []struct{ got, want int64 }{
			{none[i-1], zipfOne}, {half[i-1], square}, {first[i-1], rounded(i)}, {second[i-1], rounded(i * i)},
		} {
			if off := w.got - w.want; off < -1 || off > 1 {
				t.Fatalf("weight %d is %d, want %d", i, w.got, w.want)
			}
		}
	}
}

func TestZipfSharesFollowTheWeights(t *testing.T) {
	for _, alpha := range []scenario.Decimal{0, 800_000, 2 * one} {
		const n = 1000
		parts := shares(t, scenario.Keys{Kind: "zipf", N: n, Alpha: new(alpha)}, 400_000)
		var total float64
		for i := range n {
			total += math.Pow(float64(i+1), -float(alpha))
		}
		for i := range 20 {
			want := math.Pow(float64(i+1), -float(alpha)) / total
			if got := parts[keyName("key", int64(i))]; math.Abs(got-want) > 5*math.Sqrt(want/400_000) {
				t.Errorf("α %v: key-%d has %v, want %v", alpha, i, got, want)
			}
		}
	}
}

func TestWeightedTakesEachNumberAtItsEdges(t *testing.T) {
	w := newWeighted([]int64{0, 2, 0, 1, 0}, random.New(1).Stream("weighted"))
	var counts [5]int
	for range 30_000 {
		counts[w.next()]++
	}
	if counts[0]+counts[2]+counts[4] != 0 || counts[1] < 19_600 || counts[1] > 20_400 {
		t.Errorf("weights 0 2 0 1 0 came %v times", counts)
	}
}
