package world

import "testing"

func TestBucketsOfASeriesFitThePeriod(t *testing.T) {
	const second = 1_000_000
	for _, c := range [][3]int64{ // duration, period, bucket
		{600 * second, 60 * second, 2 * second},
		{420 * second, 60 * second, 1_500_000}, // 1.4 s would not divide a minute
		{86_400 * second, second, 288 * second},
		{1000 * second, 3 * second, 6 * second},
		{10 * second, 3600 * second, 33_334},
		{7, 3, 1},
		{1_000_003, 999_983, 3334}, // a prime number
	} {
		s := newSeries(c[0], c[1])
		if s.BucketMicros != c[2] || int64(len(s.Offered))*s.BucketMicros < c[0] || len(s.Offered) > maxBuckets {
			t.Errorf("%d µs at a period of %d: %d buckets of %d, want of %d", c[0], c[1], len(s.Offered), s.BucketMicros, c[2])
		}
	}
}
