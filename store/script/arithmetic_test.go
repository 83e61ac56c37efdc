package script

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/internal/servertest"
)

// random returns numbers that a failure can repeat: the seed is in the log.
func random(tb testing.TB) *rand.Rand {
	seed := rand.Uint64()
	tb.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// helpersOf are functions that scripts share, from the files in lua/.
func helpersOf(t *testing.T, names ...string) string {
	t.Helper()
	all := "local floor = math.floor\n"
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("lua", name+".lua"))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

// whole draws a whole number from 0 to most: any, few bits, or one beside a power
// of two, a bound or a limb.
func whole(r *rand.Rand, most int64) int64 {
	n := r.Int64N(most + 1)
	switch r.IntN(5) {
	case 0:
		n = int64(1)<<r.IntN(53) + r.Int64N(5) - 2
	case 1:
		n >>= r.IntN(53)
	case 2:
		n = []int64{0, 1, 127, 128, 4095, 4096, 94_906_265, algorithm.MaxUnits, 34_560_000_000_000, most}[r.IntN(10)] + r.Int64N(3) - 1
	case 3:
		n = most - r.Int64N(min(100, most+1))
	}
	return min(max(0, n), most)
}

const (
	mostDivisor = 1<<45 - 1
	mostNumber  = algorithm.MaxWord
)

// TestMulDivOfServersIsExact (A2, A3): for all whole a, b and m with a quotient that
// a word can hold.
func TestMulDivOfServersIsExact(t *testing.T) {
	program := helpersOf(t, "text", "number", "muldiv") + `
local out = {}
for i = 1, #ARGV, 3 do
  local q, r = muldiv(number(ARGV[i]), number(ARGV[i + 1]), number(ARGV[i + 2]))
  out[#out + 1] = text(q) .. ' ' .. text(r)
end
return table.concat(out, ',')`
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		calls, count := 4, fewer(20_000)
		beyond := 0
		for range calls {
			var args []string
			var want strings.Builder
			for range count {
				a, b, m, q, rest := product64(r)
				if a > m {
					beyond++
				}
				for _, n := range []int64{a, b, m} {
					args = append(args, strconv.FormatInt(n, 10))
				}
				want.WriteString("," + q.String() + " " + rest.String())
			}
			got := w.run(t, program, nil, args)
			wants, gots := strings.Split(want.String()[1:], ","), strings.Split(got, ",")
			if len(gots) != count {
				t.Fatalf("%d answers to %d cases", len(gots), count)
			}
			for i, want := range wants {
				if gots[i] != want {
					t.Fatalf("muldiv(%s) = %s, want %s", strings.Join(args[3*i:3*i+3], ", "), gots[i], want)
				}
			}
		}
		if beyond < count/20 {
			t.Errorf("only %d cases had a > m", beyond)
		}
	})
}

// product64 draws a case of muldiv whose quotient is a word.
func product64(r *rand.Rand) (a, b, m int64, q, rest *big.Int) {
	for {
		a, b, m = whole(r, mostNumber), whole(r, mostNumber), max(1, whole(r, mostDivisor))
		if r.IntN(2) == 0 {
			a = whole(r, m)
		}
		p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		q, rest = new(big.Int).QuoRem(p, big.NewInt(m), new(big.Int))
		if q.IsInt64() && q.Int64() <= mostNumber {
			return a, b, m, q, rest
		}
	}
}

// TestTextOfServersIsExact: text and number take every whole number to itself.
func TestTextOfServersIsExact(t *testing.T) {
	program := helpersOf(t, "text", "number", "muldiv") + `
local out = {}
for i = 1, #ARGV do
  local n = number(ARGV[i])
  out[i] = text(n) .. ' ' .. text(ARGV[i] + 0) .. (n == ARGV[i] + 0 and '' or ' differs')
end
return table.concat(out, ',')`
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		args := []string{"0", "1", "9", "10", "99999999", "100000000", "100000001", "999999999999999", "1000000000000000", "9007199254740991"}
		for range fewer(20_000) {
			args = append(args, strconv.FormatInt(whole(r, mostNumber), 10))
		}
		for i, got := range strings.Split(w.run(t, program, nil, args), ",") {
			if want := args[i] + " " + args[i]; got != want {
				t.Fatalf("text gives %q, want %q", got, want)
			}
		}
	})
}

// TestNumberRefusesWhatTextDoesNotWrite: one number has one text.
func TestNumberRefusesWhatTextDoesNotWrite(t *testing.T) {
	hostile := []string{
		"", " ", "-", "+", "-0", "-1", "+0", "+1", "00", "01", "007", " 1", "1 ", "\t1", "1\n", "\n1", "1\r", "1 2", "1,000", "1_000",
		"1e3", "1E3", "0x10", "0X1F", "0b1", "0o7", "1.0", "1.", ".5", "0.0", "1f", "1d", "1L", "nan", "NaN", "inf", "-inf", "Infinity",
		"nil", "true", "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "10000000000000000", "99999999999999999", strings.Repeat("9", 30), "1" + strings.Repeat("0", 400),
		"0" + strings.Repeat("0", 30), "\x001", "1\x00", "\x00", "1\x002", "1\xff", "\u0661", "１", "1\u00a0", "\u20001", "٣", "²", "%d", "[1]",
	}
	fine := map[string]bool{"0": true, "1": true, "10": true, "9007199254740991": true, "9007199254740990": true, "1790000000123456": true}
	program := helpersOf(t, "text", "number", "muldiv") + `
local out = {}
for i = 1, #ARGV do
  local n = number(ARGV[i])
  out[i] = n and text(n) or 'nil'
end
return table.concat(out, ',')`
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		args := append([]string{}, hostile...)
		for n := range fine {
			args = append(args, n)
		}
		for range fewer(20_000) {
			args = append(args, mangled(r, strconv.FormatInt(whole(r, mostNumber), 10)))
		}
		for i, got := range strings.Split(w.run(t, program, nil, args), ",") {
			want := "nil"
			if n, err := strconv.ParseInt(args[i], 10, 64); err == nil && 0 <= n && n <= mostNumber && strconv.FormatInt(n, 10) == args[i] {
				want = args[i]
			}
			if got != want || fine[args[i]] && want == "nil" {
				t.Errorf("number(%.40q) = %s, want %s", args[i], got, want)
			}
		}
	})
}

// mangled changes a few bytes of a text, or none.
func mangled(r *rand.Rand, text string) string {
	const signs = "0123456789 -+.:eEx\x00\n\xff"
	b := []byte(text)
	for range r.IntN(3) {
		i, c := r.IntN(len(b)+1), signs[r.IntN(len(signs))]
		switch {
		case i < len(b) && r.IntN(3) == 0:
			b = append(b[:i], b[i+1:]...)
		case i < len(b) && r.IntN(2) == 0:
			b[i] = c
		default:
			b = append(b[:i], append([]byte{c}, b[i:]...)...)
		}
	}
	return string(b)
}

// TestFloorOfServersIsExact (A3): of quotients of either sign, which the token bucket
// has, and where they lie closest below a whole number.
func TestFloorOfServersIsExact(t *testing.T) {
	program := helpersOf(t, "text", "number", "muldiv") + `
local out = {}
for i = 1, #ARGV, 3 do
  local x, y = number(ARGV[i + 1]), number(ARGV[i + 2])
  if ARGV[i] == '-' then
    out[#out + 1] = text(0 - floor(-x / y))
  else
    out[#out + 1] = text(floor(x / y)) .. ' ' .. text(x % y)
  end
end
return table.concat(out, ',')`
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		var args, want []string
		for range fewer(20_000) {
			x, y := whole(r, mostNumber), max(1, whole(r, mostNumber))
			if r.IntN(2) == 0 { // beside a multiple
				x = min(mostNumber, max(0, whole(r, mostNumber/y)*y+r.Int64N(3)-1))
			}
			down, up := strconv.FormatInt(x/y, 10)+" "+strconv.FormatInt(x%y, 10), strconv.FormatInt((x-1)/y+1, 10)
			if x == 0 {
				up = "0"
			}
			sign, result := "+", down
			if r.IntN(2) == 0 {
				sign, result = "-", up
			}
			args = append(args, sign, strconv.FormatInt(x, 10), strconv.FormatInt(y, 10))
			want = append(want, result)
		}
		for i, got := range strings.Split(w.run(t, program, nil, args), ",") {
			if got != want[i] {
				t.Fatalf("floor(%s%s / %s) = %s, want %s", args[3*i], args[3*i+1], args[3*i+2], got, want[i])
			}
		}
	})
}

// TestNumbersOfCallsAreWords: whatever the limit and the request, Go computes numbers
// for the scripts that they can hold, and equal to those of big integers.
func TestNumbersOfCallsAreWords(t *testing.T) {
	r := random(t)
	s := open(t, unused, nil)
	for range fewer(20_000) {
		a := randomAlgorithm(r)
		request := algorithm.Request{Cost: whole(r, mostNumber), MaxDelay: 0}
		if r.IntN(2) == 0 {
			request = algorithm.Request{Cost: math.MaxInt64 - r.Int64N(3), MaxDelay: math.MaxInt64}
		}
		limit, err := s.prepare(a)
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := limit.numbers(a, request)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range numbers {
			if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < -1 || n > mostNumber {
				t.Fatalf("%v with %+v: %v", a, request, numbers)
			}
		}
		p := a.Spec().Params
		if kind := a.Spec().Kind; kind == algorithm.KindGCRA || kind == algorithm.KindLeakyBucket {
			times := func(n int64) string {
				units, per := exact.Lowest(p[0], p[1])
				x := new(big.Int).Mul(big.NewInt(n), big.NewInt(per))
				q, rest := x.QuoRem(x, big.NewInt(units), new(big.Int))
				return q.String() + " " + rest.String()
			}
			if got, want := strings.Join(numbers[:2], " "), times(p[2]); got != want {
				t.Fatalf("%v: burst × T is %s, want %s", a, got, want)
			}
			if got, want := strings.Join(numbers[3:5], " "), times(min(request.Cost, p[2]+1)); got != want {
				t.Fatalf("%v: cost × T is %s, want %s", a, got, want)
			}
		}
	}
}
