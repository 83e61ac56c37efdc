// Package bench measures weir beside a floor and beside other limiters, always
// as ratios taken in turns in one run: these numbers hold on a noisy machine,
// nanoseconds do not.
//
// BenchmarkRatio and BenchmarkDenied are about decisions in memory,
// BenchmarkServer about those through a server, and BenchmarkInside about what a
// server spends on them. TestServerBytes counts the memory of a server.
package bench
