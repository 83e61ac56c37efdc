// Package scenario describes worlds to simulate, as data: limits, processes, a network,
// a server, the requests and the faults. Package sim runs them.
//
// A [Scenario] is usually a YAML text: [Parse] reads one, and [Load] a built-in one.
// In a text a length of time is a Go duration such as "10s", a rate an exact fraction
// such as "100/1s", and a number with places a decimal such as "0.9" or "90%".
// [Generate] draws a scenario from a seed, and [Shrink] makes a scenario small. Errors
// are of the type [Error], which names the field, its line, its value and what is
// allowed.
//
// # Processes
//
// The default is in brackets; a field without one is required.
//
//   - constant: rate, jitter [0]. The n-th arrival comes at ⌊n·P/L⌋ µs for a rate of L per
//     P, from n = 0, so it never drifts; then a part of the gap, evenly up to jitter.
//   - poisson: rate. Independent exponential gaps. It models the requests of many
//     independent people, not the requests of machines (Kingman 1993; Paxson & Floyd
//     1995 on where it fails).
//   - mmpp: on_rate, off_rate [none], on, off. A Poisson process with two rates,
//     each for exponential times of these means; on-off where off_rate is left out.
//     Or rate, cv2, lag [0]: fitted to the mean rate, the squared coefficient of
//     variation of the gaps and the correlation of neighbouring gaps (Fischer &
//     Meier-Hellstern 1993).
//   - pareto: rate, sources [100], alpha [1.4], on [1s], off [5s]. Many sources that
//     are on and off for Pareto times; their sum is self-similar with H = (3 − α)/2
//     (Leland et al. 1994; Willinger et al. 1997; Crovella & Bestavros 1997). Each
//     source is a client. Its mean over a time is close to the rate only where that
//     time is long.
//   - batch: rate, batch [4], sizes [geometric]. A Poisson process of batches that
//     come at one instant; rate is the rate of the batches (compound Poisson process;
//     Kingman 1993).
//   - flash: rate, peak [10], at [0s], ramp [10s], hold [0s], decay [2m]. A flash
//     crowd: rate × peak at the top (World Cup 1998, Arlitt & Jin 2000).
//   - diurnal: rate, amplitude [0.6], period [24h], phase [0s]. A sine around the
//     mean rate, by thinning (Lewis & Shedler 1979).
//   - counts: counts or file, step [1m], repeat [false]. Requests per step, as from
//     the log of a real server; a Poisson process within each step.
//   - trace: file, speed [1], format, log_format, envelope, key, time_column,
//     time_unit, cost_column. Requests that were recorded, the first at time 0, with their keys
//     and costs unless the traffic names others.
//   - boundary: limit, delta [1ms], every [2]. Attacks a fixed window: N requests in
//     the last delta of a window and N in the first of the next, at every second edge,
//     so that 2N pass each time.
//   - counter: limit. Attacks a sliding counter: N requests at the end of a window,
//     then one each W/N: 2N − 1 in a window's length. One round takes three windows.
//   - drip: gap, offset [0s]. One request each gap + offset, to the microsecond.
//
// The attackers know when windows begin. An attacker of GCRA is a closed loop that asks
// again when RetryAfter says, or 1 µs before: see the kind obey of [Retries].
package scenario
