// Package traffic makes the requests of a simulation: when they come, for which
// key, at what cost, and what a refused caller does next.
//
// A [Load] is an open stream of requests: a [Process] says when they come, [Keys]
// for whom and [Costs] for how much. [NewSource] turns it into a [Source], which
// yields one [Arrival] after the other. Clients that
// wait for an answer before they ask again are a [ClosedLoop], which the simulated
// world runs. [Retries] say what a caller does after a refusal, [Throttle] how a
// client holds itself back.
//
// Everything is made from plain structs that a scenario file can hold. In text a
// duration is a Go duration such as "10s", a rate an exact fraction such as "100/1s"
// and a number with places a decimal such as "0.9" or "90%". What is wrong is
// refused with an *algorithm.ParameterError: the field, its value, and what is
// allowed. Fields that the chosen kind does not take are refused too.
//
// The same load and the same seed give the same arrivals, byte for byte, on every
// platform: see package random.
//
// # Processes
//
// The default is in brackets; a field without one is required.
//
//   - constant: rate, jitter [0]. The n-th arrival comes at ⌊n·P/L⌋ µs for a rate of L per
//     P, from n = 0, so it never drifts; then a part of the gap, evenly up to jitter.
//   - poisson: rate. Independent exponential gaps. It models the coming of many
//     independent people, not that of machines (Kingman 1993; Paxson & Floyd 1995
//     on where it fails).
//   - mmpp: on_rate, off_rate [none], on, off. A Poisson process with two rates,
//     each for exponential times of these means; on-off where off_rate is left out.
//     Or rate, cv2, lag [0]: fitted to the mean rate, the squared coefficient of
//     variation of the gaps and the correlation of neighbouring gaps (Fischer &
//     Meier-Hellstern 1993).
//   - pareto: rate, sources [100], alpha [1.4], on [1s], off [5s]. Many sources that
//     are on and off for Pareto times; their sum is self-similar with H = (3 − α)/2
//     (Leland et al. 1994; Willinger et al. 1997; Crovella & Bestavros 1997). Each
//     source is a client. The mean rate is reached slowly: that is its nature.
//   - batch: rate, batch [4], sizes [geometric]. A Poisson process of batches that
//     come at one instant; rate is that of the batches (compound Poisson process;
//     Kingman 1993).
//   - flash: rate, peak [10], at [0s], ramp [10s], hold [0s], decay [2m]. A flash
//     crowd: rate × peak at the top (World Cup 1998, Arlitt & Jin 2000).
//   - diurnal: rate, amplitude [0.6], period [24h], phase [0s]. A sine around the
//     mean rate, by thinning (Lewis & Shedler 1979).
//   - counts: counts or file, step [1m], repeat [false]. Requests per step, as from
//     the log of a real server; a Poisson process within each step.
//   - trace: file, speed [1], format, key, time_column, time_unit, key_column,
//     cost_column. Requests that were recorded, the first at time 0, with their keys
//     and costs unless the load names others. [Env].Trace reads them.
//   - boundary: limit, delta [1ms], every [2]. Attacks a fixed window: N requests in
//     the last delta of a window and N in the first of the next, at every second edge,
//     so that 2N pass each time.
//   - counter: limit. Attacks a sliding counter: N requests at the end of a window,
//     then one each W/N: 2N − 1 in a window's length. One round takes three windows.
//   - drip: gap, offset [0s]. One request each gap + offset, to the microsecond.
//
// The attackers know when windows begin: they are told [Env].Epoch. An attacker of
// GCRA is a closed loop that asks again when RetryAfter says, or 1 µs before: see
// the kind obey of [Retries].
//
// # Keys and costs
//
// Keys are one, hot, zipf (Breslau et al. 1999), uniform, spray or client. Costs are
// fixed, geometric, log-normal, list or mix. [Keys] and [Costs] describe them.
//
// # Retries
//
// They are none, immediate, fixed, exponential, full-jitter, equal-jitter and
// decorrelated-jitter (Brooker 2015), and obey. The throttle is that of Site
// Reliability Engineering (Beyer et al. 2016, chapter 21).
package traffic
