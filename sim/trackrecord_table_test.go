package sim

import (
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// mistake is one that a known limiter made, built anew as small as it gets: as a limiter,
// as the place of its states, or as a world that does to it what was done.
type mistake struct {
	what, where string
	scenario    string // the name of the file, too
	open        func(numbers) step
	place       func(store.Slot) string // nil is apart
	world       func(*scenario.Scenario)
	rule        string // that sees it; "" where the scenario expects something
}

// mistakes are in the order of the page. Where is the report, or whose code does it.
var mistakes = []mistake{
	{
		what: "The clock counts whole seconds: nothing is refilled within one.", where: "spring-cloud/spring-cloud-gateway #4027, WeTransfer/prorate PR 29",
		scenario: "whole-seconds", open: inWholeSeconds, rule: check.Denial,
	},
	{
		what: "Fractions of a unit are lost each time a key is polled.", where: "firecracker-microvm/firecracker PR 3370, gubernator (no report)",
		scenario: "polled", open: losesFractions, rule: check.Denial,
	},
	{
		what: "Seconds and microseconds of the time are joined as text, without the leading zeros.", where: "taylorhakes/python-redis-cache PR 45",
		scenario: "glued-time", open: logging{clock: gluesTheTime}.open, rule: check.Retry,
	},
	{
		what: "A stored instant has 14 digits.", where: "inngest/inngest PR 3290",
		scenario: "long-numbers", open: arrivals(wholeMicros, in14Digits), rule: check.Denial,
	},
	{
		what: "Times are floating-point seconds: after the first of ten, 8 remain.", where: "go-redis/redis_rate (no report)",
		scenario: "first-of-ten", open: inFloatSeconds(since2017), rule: check.Outcome,
	},
	{
		what: "Times are floating-point seconds: a burst of ten admits nine.", where: "go-redis/redis_rate, throttlekit (no report)",
		scenario: "burst-at-once", open: inFloatSeconds(since2017), rule: check.Denial,
	},
	{
		what: "A sum minus its summand is not what it was, just above a power of two: the first request of a new key is denied.", where: "throttled-py #175",
		scenario: "power-of-two", open: inFloatSeconds(0), rule: check.Denial,
	},
	{
		what: "The interval between two units is rounded to whole microseconds.", where: "redis-cell (no report)",
		scenario: "fast-rate", open: arrivals(wholeMicros, asItIs), rule: check.Admission,
	},
	{
		what: "A wait below one is cut to nothing on its way back, and nobody is blocked.", where: "WeTransfer/prorate #40",
		scenario: "wait-below-a-second", open: changed(cutsTheReply), rule: check.Admission,
	},
	{
		what: "Negative elapsed time takes units away.", where: "ProfessionalWiki/MediaWiki-MCP-Server #557, SandeepVashishtha/Eventra #6488, rsyslog/rsyslog PR 1369",
		scenario: "clock-back", open: drainsBackwards, rule: check.Denial,
	},
	{
		what: "The last instant goes back with the clock, and the same time is credited twice.", where: "golang.org/x/time/rate (no report)",
		scenario: "clock-back-and-forth", open: goesBack, rule: check.Admission,
	},
	{
		what: "The last instant goes back with the clock of the process that asks: two gateways a second apart fill the bucket for each other.", where: "spring-cloud/spring-cloud-gateway #2412",
		scenario: "two-gateways", open: goesBack, rule: check.Admission,
	},
	{
		what: "The cleaner takes a negative length of time for a very long one, and drops a key in use.", where: "sethvargo/go-limiter #57",
		scenario: "cleaner", open: expiring(unsigned), rule: check.Admission,
	},
	{
		what: "A key expires so long after it was made, and not after it was used.", where: "traefik/traefik PR 8254",
		scenario: "in-use", open: expiring(sinceItWasMade), rule: check.Admission,
	},
	{
		what: "A life time is rounded down to 0, and nothing is stored.", where: "spring-cloud/spring-cloud-gateway PR 2453",
		scenario: "short-life", open: expiring(inWholeSecondsOfLife), rule: check.Admission,
	},
	{
		what: "The count is written first and its life in a second step, which does not come: the key is blocked for ever.", where: "Tabcorp/redis-rate-limiter #1, haraka/Haraka #1757, alisaifee/limits #14, Kong/kong #5763, apache/apisix #5588",
		scenario: "two-steps", open: counting{life: inTwoSteps}.open, rule: check.Liveness,
	},
	{
		what: "A life time is given in milliseconds where seconds are wanted.", where: "Kong/kong #14995, scality/Arsenal PR 569",
		scenario: "wrong-unit", open: counting{life: milliseconds}.open, rule: check.Denial,
	},
	{
		what: "A window of half a second is given as 0 seconds, and limits nothing.", where: "cristipufu/aspnetcore-redis-rate-limiting #62, GrahamCampbell/Laravel-Throttle #100, rack/rack-attack PR 14",
		scenario: "half-a-second", open: counting{life: flooredSeconds}.open, rule: check.Admission,
	},
	{
		what: "A window of more than 25 days is a timer of 32 bits in milliseconds, which ends at once.", where: "express-rate-limit/express-rate-limit #546, animir/node-rate-limiter-flexible #71, elizaOS/eliza #20541",
		scenario: "a-year", open: counting{life: timer32}.open, rule: check.Admission,
	},
	{
		what: "Units times nanoseconds pass 2^63 after some hours.", where: "bucket4j/bucket4j #51",
		scenario: "long-idle", open: overflows, rule: check.Denial,
	},
	{
		what: "Entries of a log are counted before those that have left are removed.", where: "apache/shenyu #6754",
		scenario: "entries-that-left", open: logging{countedFirst: true}.open, rule: check.Denial,
	},
	{
		what: "An entry of a log is its instant: a hundred at one instant are one.", where: "sockudo/sockudo #251, peterkhayes/rolling-rate-limiter #11",
		scenario: "one-instant", open: logging{byInstant: true}.open, rule: check.Admission,
	},
	{
		what: "Denied requests are written into the log: a client that keeps trying is never let in again.", where: "mennanov/limiters #110, peterkhayes/rolling-rate-limiter #9, teamplanes/graphql-rate-limit #191",
		scenario: "keeps-trying", open: logging{deniedToo: true}.open, rule: check.Denial,
	},
	{
		what: "Denied requests are counted: the same, with a sliding counter.", where: "rcarmo/piclaw PR 105, Kong/docs.konghq.com PR 6586",
		scenario: "keeps-trying-a-counter", open: weighing{deniedToo: true}.open, rule: check.Denial,
	},
	{
		what: "The share of the window before is cut to a whole number.", where: "tempesta-tech/xFW PR 79",
		scenario: "half-a-share", open: weighing{cutShare: true}.open, rule: check.Admission,
	},
	{
		what: "What remains leaves out the share of the window before.", where: "apache/apisix PR 13704",
		scenario: "window-before", open: weighing{leavesOut: true}.open, rule: check.Outcome,
	},
	{
		what: "A wait is cut to whole seconds: the client comes too early and is denied again.", where: "brandur/redis-cell #56, hashicorp/boundary PR 4094, fastify/fastify-rate-limit PR 325, directus/directus PR 17296",
		scenario: "whole-second-waits", open: changed(waitsWholeSeconds), rule: check.Retry,
	},
	{
		what: "A denied caller is told to wait until everything is there again, not until there is room.", where: "antifuchs/ratelimit_meter #36",
		scenario: "waits-for-one", open: changed(waitsForAll), rule: check.Retry,
	},
	{
		what: "The reset is 0 as soon as a request is denied.", where: "apache/apisix #9964, envoyproxy/ratelimit #165",
		scenario: "reset-of-a-denial", open: counting{resetsTo0: true}.open, rule: check.Reset,
	},
	{
		what: "A request that can never pass drains the bucket.", where: "rwz/redis-gcra #6 (asked for)",
		scenario: "oversize", open: changed(drainsByOversize), rule: check.Denial,
	},
	{
		what: "A cost of one more than the burst passes.", where: "boinkor-net/governor #11",
		scenario: "one-too-large", open: changed(passesOneMore), rule: check.Admission,
	},
	{
		what: "A burst that was not given is a tenth of the limit, or 1.", where: "inngest/inngest PR 1459, traefik/traefik #8330",
		scenario: "no-burst-given", open: burstsByTenths, rule: check.Denial,
	},
	{
		what: "Names are joined by a character that they may contain, and two counts are one.", where: "kgateway-dev/kgateway #3801, #4257",
		scenario: "joined-parts", open: counting{}.open, place: joined, rule: check.Denial,
	},
	{
		what: "Rules that match the same request share a count, which is raised once for each.", where: "erpc/erpc PR 1058, envoyproxy/gateway #2225",
		scenario: "overlapping-rules", open: counting{}.open, place: byKey, rule: check.Denial,
	},
	{
		what: "What the short limit denies is charged to the long one.", where: "ravangen/graphql-rate-limit #129, laravel/framework PR 55981, envoyproxy/ratelimit #427",
		scenario: "charged-to-the-long", open: counting{}.open, rule: check.Denial,
	},
	{
		what: "What the long limit denies is charged to the short one, which then gets the blame.", where: "langfuse/langfuse PR 14175",
		scenario: "charged-to-the-short", open: counting{}.open, rule: check.Denial,
	},
	{
		what: "A request whose answer does not come is sent again, and charged twice.", where: "express-rate-limit/rate-limit-redis #251, getsentry/relay PR 5867",
		scenario: "sent-again", world: func(s *scenario.Scenario) { s.Network.Repeats = true },
	},
}

// since2017 is 2017-01-01T00:00:00Z, in seconds since 1970.
const since2017 = 1_483_228_800

// joined makes a place of a limit and a key without telling them apart.
func joined(s store.Slot) string { return s.Limit + "_" + s.Key }

// byKey makes a place of a key alone.
func byKey(s store.Slot) string { return s.Key }
