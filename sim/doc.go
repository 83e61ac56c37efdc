// Package sim runs limiters in a simulated world: processes, a network, a server and
// callers, with everything that goes wrong between them. It shows what a limit would do
// to real traffic before it is deployed, and it finds out whether the code keeps its
// promises when clocks jump, replies get lost and servers fail.
//
// A [scenario.Scenario] describes the world as data, usually a YAML file: see
// [scenario.Parse], and [scenario.List] for the built-in ones. [Run] runs it and returns
// a [result.Result] for each limit. Everything happens on one virtual clock in whole
// microseconds, and every draw comes from a named stream of one seed. So equal scenarios
// have equal results, on every machine, and a day takes seconds.
//
// # What is real and what is not
//
// The code under test is the real one: weir.Limiter and weir.MultiLimiter with their
// failure modes, the batcher of the stores on a server, which decides which requests
// share a call, and a store with the algorithms in it: store/memory, or one on a server
// (Options.NewStore). Only time, the network and the death of processes are simulated.
// Limiters run in coroutines, so that a call can wait for a message, and one at a time.
//
// A node's call leaves the batcher, takes its time on the network, is executed by the
// server at one instant of the clock that decides, and comes back. A caller waits for a
// bounded time, and then gets the errors that a store on a server gives:
// store.ErrUnavailable where nothing was sent, and store.ErrOutcomeUnknown where it was.
//
// # What is checked
//
// After each decision the simulator compares it with a model of the limit. The models are
// written from the definitions, apart from package algorithm, and are charged with
// everything that was admitted, also beyond the limit: so they say exactly when a denial
// was wrong, and by how much too much was admitted. Faults may cause over-admission; each
// has a proved bound, and exceeding it is a violation like any other: see
// [scenario.Rules]. After the end all faults are healed, and every slot must become
// fresh. The first violation ends the run and is a [result.Failure], with the last
// events.
//
// [scenario.Generate] chooses a scenario from a seed, and [scenario.Shrink] makes one that
// violates a rule as small as it can. Keep the scenario, not the seed: its text is
// complete, and replays as long as the format exists.
package sim
