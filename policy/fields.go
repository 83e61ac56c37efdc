package policy

import (
	"reflect"
	"strings"
	"sync"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
)

// fieldInfo describes a field of a policy file: for the JSON Schema, and for the
// reference. Its name and type are those of the struct, which the decoder reads.
type fieldInfo struct {
	name     string
	about    string
	usual    string   // what counts where it is absent
	required bool     //
	min, max int64    // of a number; max 0: no number
	choices  []string // of a text
	pattern  string   // of a text
	some     bool     // a list or a mapping must not be empty
	patterns bool     // the names of a mapping may be patterns of endpoints
}

// structInfo describes a mapping with known fields.
type structInfo struct {
	of     reflect.Type
	title  string
	about  string
	fields []fieldInfo
}

const (
	namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
	modePattern = `^(enforce|shadow|off|enforce ([1-9][0-9]?|100)%)$`
	whenPattern = `^ *` + whenPart + `( *, *` + whenPart + `)* *$`
	whenPart    = `(` + dayPart + `( +` + timesPart + `)?|` + timesPart + `)`
	dayPart     = `(Sun|Mon|Tue|Wed|Thu|Fri|Sat)(-(Sun|Mon|Tue|Wed|Thu|Fri|Sat))?`
	timesPart   = `([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)`
	zonePattern = `^[A-Za-z0-9_+/-]+$`
	timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`
)

// table describes every field of a policy file, in the order of the reference.
var table = []structInfo{
	{reflect.TypeFor[Policy](), "The file", "A policy. Every rule that matches a request applies.", []fieldInfo{
		{name: "version", about: "The version of the format.", required: true, min: 1, max: 1},
		{name: "attributes", about: "Attributes of requests, by name. `ip` (an address), `user`, `api_key`, `org`, `tenant` and `tier` are known without a declaration. Another attribute that a match or a key names has to be declared."},
		{name: "default_tier", about: "The tier of requests that have no other.", usual: "none; required where a limit comes from the tier", pattern: namePattern},
		{name: "tiers", about: "Tiers by name."},
		{name: "rules", about: "The rules. Their order is the order of the answers."},
		{name: "subjects", about: "Tiers and limits of somebody. The first subject that matches and has a tier gives the tier, the first that matches and has a limit gives the limit."},
		{name: "overrides", about: "Limits for somebody and for some time. The first override that matches and has not ended counts, before subjects and tiers."},
		{name: "lists", about: "Exceptions for whole requests. Lists are looked at before all rules."},
	}},
	{reflect.TypeFor[Attribute](), "Attributes", "How the values of an attribute are read.", []fieldInfo{
		{name: "type", about: "`text` is compared byte by byte. `address` is an IP address without port and zone; an IPv4 address in IPv6 form is the IPv4 address, and an IPv6 address stands for its prefix in keys.", usual: "`text`, and `address` for `ip`", choices: []string{string(Text), string(Address)}},
		{name: "ipv6_prefix", about: "Bits of an IPv6 address that tell clients apart. Only for addresses.", usual: "64", min: 1, max: 128},
		{name: "secret", about: "Whether the value is replaced by its HMAC before a store, a log or a metric sees it. Only for texts.", usual: "false"},
	}},
	{reflect.TypeFor[Tier](), "Tiers", "Limits by name, for those who have the tier.", []fieldInfo{
		{name: "extends", about: "The tier whose limits and algorithms count where this one has none.", usual: "none", pattern: namePattern},
		{name: "limits", about: "Specs by the name that rules ask for."},
		{name: "schedule", about: "Other numbers for `limits`, also for those of the tier that this one extends, at some times of the week. The first entry that has a limit and whose time it is counts. Where this tier has a limit, the entries of the tier that it extends do not count for it.", some: true},
		{name: "algorithms", about: "The only algorithms that limits of subjects and overrides may use for those who have the tier. Another one is passed over.", usual: "all", some: true},
	}},
	{reflect.TypeFor[Rule](), "Rules", "A rule limits the requests that it matches. Exactly one of `limit`, `limits` and `endpoints` says how.", []fieldInfo{
		{name: "id", about: "The name of the rule in answers, logs and metrics, and of the states of its limits: a rule with a new ID starts fresh. It is unique.", required: true, pattern: namePattern},
		{name: "match", about: "The requests that the rule is for.", usual: "all"},
		{name: "key", about: "Attributes that tell those who are limited apart. Without any, all requests share one state."},
		{name: "limit", about: "The one limit of the rule."},
		{name: "limits", about: "Several limits by name, which all have to admit a request.", some: true},
		{name: "endpoints", about: "Limits by endpoint pattern. The most specific pattern that matches a request counts; a request that none matches does not meet the rule. `match.endpoints` must be absent.", some: true, patterns: true},
		{name: "schedule", about: "Other numbers for the limits of the rule at some times of the week. The first entry that has a limit and whose time it is counts. A limit that comes from the tier alone is for the schedule of the tier.", some: true},
		{name: "cost", about: "What a request costs.", usual: "1 unit"},
		{name: "on_missing", about: "What to do with a request without one of the `key` attributes: the rule does not apply (`skip`), the request is denied (`deny`), or all such requests have one key (`shared`), with `colocate` one for each value of that attribute.", usual: "`skip`", choices: []string{string(SkipMissing), string(DenyMissing), string(ShareMissing)}},
		{name: "on_failure", about: "What to answer when the store cannot: `closed` denies, `open` admits without counting, `local` asks a decider of the process. Of several rules the strictest counts: `closed`, `local`, `open`.", usual: "of the enforcer", choices: []string{string(FailClosed), string(FailOpen), string(FailLocal)}},
		{name: "mode", about: "`enforce` decides. `shadow` decides and reports, and never changes an answer. `off` is as if the rule were absent. `enforce 10%` enforces for 10 of 100 keys, chosen by their hash, and shadows for the others.", usual: "`enforce`", pattern: modePattern},
		{name: "active", about: "The time in which the rule counts.", usual: "always"},
		{name: "replaces", about: "IDs of rules that do not apply where this one does. A rule in shadow replaces only rules in shadow.", some: true},
		{name: "colocate", about: "An attribute whose value decides where a cluster keeps the states of the rule: rules that share it are decided in one call. It belongs to the key, whether `key` names it or not.", usual: "none", pattern: namePattern},
		{name: "shards", about: "Divides each limit of the rule into that many, of which each request asks one, chosen at random. All together admit at most the limit, and deny some requests earlier. See [hot keys](../guides/hot-keys.md#sharded-keys).", usual: "not divided", min: 2, max: divide.MaxParts},
		{name: "lease", about: "Whether processes take units of the limits in advance and hand them out without the store. The program has to have leases, and refuses the policy otherwise. Not with `shards`. See [hot keys](../guides/hot-keys.md#in-a-policy).", usual: "false"},
		{name: "warn_at", about: "Percent of a limit from which a request has the standing `warning`.", usual: "80", min: 1, max: 100},
		{name: "calm_at", about: "Percent of a limit below which the standing is `normal` again; at most `warn_at`.", usual: "70", min: 1, max: 100},
	}},
	{reflect.TypeFor[Scheduled](), "Schedules", "Other numbers for limits at some times of the week. States run on: a limit keeps its algorithm, and a window its period, or it is `0` or `unlimited`. Exactly one of `limit` and `limits` says which.", []fieldInfo{
		{name: "when", about: "Days, times of the day or both: `Mon-Fri 08:00-18:00`, `Sat-Sun`, `22:00-06:00`; up to 50 with a comma between. A time until one that is not later ends on the next day, and belongs to the day on which it begins. The end does not belong to it. Times are those that clocks show: of an hour that clocks show twice both count, and one that they skip never comes.", required: true, pattern: whenPattern},
		{name: "zone", about: "The name of a zone of the IANA database, such as `Europe/Berlin`.", usual: "UTC", pattern: zonePattern},
		{name: "limit", about: "The limit of a rule that has one."},
		{name: "limits", about: "Limits by name: of a tier, or of a rule that has several or one for each endpoint.", some: true, patterns: true},
	}},
	{reflect.TypeFor[Match](), "Match", "The requests that a rule is for: they match one of the endpoints, if there are any, and all of the attributes.", []fieldInfo{
		{name: "endpoints", about: "Patterns of `net/http.ServeMux`, such as `POST /login`, `/api/` and `GET example.com/orders/{id}`, with its meaning and precedence.", usual: "all", some: true},
		{name: "attributes", about: "Conditions by attribute; all of them have to hold. See [conditions](#conditions).", usual: "none"},
	}},
	{reflect.TypeFor[LimitRef](), "Limits", "A limit is a [spec](spec.md) such as `gcra:100/1m,burst=20`, `0` (blocks), `unlimited` (exempts), or a mapping:", []fieldInfo{
		{name: "spec", about: "The limit, also for tiers that have no limit of the name in `tier`."},
		{name: "tier", about: "The name of a limit of the tier.", pattern: namePattern},
	}},
	{reflect.TypeFor[Cost](), "Costs", "How many units a request costs.", []fieldInfo{
		{name: "attribute", about: "The attribute that has the cost, as a whole number. A request without it, or with another text, costs `default`.", usual: "none", pattern: namePattern},
		{name: "default", about: "Units. Required with `attribute`.", usual: "1", min: 1, max: algorithm.MaxUnits},
		{name: "max", about: "What a higher cost is cut down to. Only with `attribute`.", usual: "10^12", min: 1, max: algorithm.MaxUnits},
	}},
	{reflect.TypeFor[Active](), "Active", "The time in which a rule counts.", []fieldInfo{
		{name: "from", about: "The first instant.", usual: "not bounded"},
		{name: "until", about: "The instant at which it has ended.", usual: "not bounded"},
	}},
	{reflect.TypeFor[Subject](), "Subjects", "A tier, limits, or both for those whom `match` is about.", []fieldInfo{
		{name: "match", about: "Conditions by attribute; see [conditions](#conditions).", required: true, some: true},
		{name: "tier", about: "The tier.", pattern: namePattern},
		{name: "limits", about: "Specs by name: the ID of a rule with one limit, `RULE/NAME` for one of several limits of a rule, or the name of a limit of the tiers. The first of these that is there counts."},
	}},
	{reflect.TypeFor[Override](), "Overrides", "A limit of a rule for those whom `match` is about, until it ends.", []fieldInfo{
		{name: "rule", about: "The ID of the rule.", required: true, pattern: namePattern},
		{name: "name", about: "The name or the endpoint of the limit, where the rule has several.", usual: "all limits of the rule; `limit` is then `0` or `unlimited`"},
		{name: "match", about: "Conditions by attribute; see [conditions](#conditions).", required: true, some: true},
		{name: "limit", about: "The limit.", required: true},
		{name: "until", about: "The instant at which the override has ended.", required: true},
		{name: "reason", about: "Why; shown in explanations."},
	}},
	{reflect.TypeFor[Lists](), "Lists", "A live entry of `deny` that matches denies, whatever else there is; otherwise a live entry of `allow` exempts from all rules. Neither touches a state.", []fieldInfo{
		{name: "deny", about: "Entries that deny."},
		{name: "allow", about: "Entries that exempt."},
	}},
	{reflect.TypeFor[Entry](), "Entries of lists", "", []fieldInfo{
		{name: "match", about: "Conditions by attribute; see [conditions](#conditions).", required: true, some: true},
		{name: "until", about: "The instant at which the entry has ended.", usual: "never"},
		{name: "reason", about: "Why; shown in answers."},
	}},
}

// structFields are the fields of a struct by the names of its JSON tags.
type structFields struct {
	names []string
	index map[string]int
	info  map[string]*fieldInfo
}

var structs sync.Map // structFields by reflect.Type

func fieldsOf(t reflect.Type) structFields {
	if known, is := structs.Load(t); is {
		return known.(structFields)
	}
	made := structFields{index: map[string]int{}, info: map[string]*fieldInfo{}}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		made.names = append(made.names, name)
		made.index[name] = i
	}
	for i := range table {
		for j := range table[i].fields {
			if f := &table[i].fields[j]; table[i].of == t {
				made.info[f.name] = f
			}
		}
	}
	structs.Store(t, made)
	return made
}
