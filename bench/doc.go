// Package bench measures weir beside a floor and beside other limiters, always
// as ratios taken in turns in one run: these numbers hold on a noisy machine,
// nanoseconds do not.
package bench
