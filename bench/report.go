package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/weirgo/weir/internal/servertest"
)

// markdown returns all that was measured as tables.
func (r *run) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%d rounds; the farther quartile of a value lies %.0f %% from its median, in the median of all values.\n",
		machine(), r.rounds, 100*r.values.spread())
	for _, t := range r.tables() {
		text.WriteString(t.markdown())
	}
	return text.String()
}

// machine says what the numbers were measured on.
func machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, after, _ := strings.Cut(string(info), "model name")
		line, _, _ := strings.Cut(after, "\n")
		model = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
	}
	return fmt.Sprintf("Measured on %d cores (%s, %s), %s, with %s and %s on the loopback interface.",
		runtime.GOMAXPROCS(0), model, runtime.GOOS, runtime.Version(), version(servertest.Redis), version(servertest.Valkey))
}

// version returns the name of a server and its version.
func version(kind servertest.Kind) string {
	name := map[servertest.Kind]string{servertest.Redis: "Redis", servertest.Valkey: "Valkey"}[kind]
	out, err := exec.Command(string(kind)+"-server", "--version").Output()
	if err != nil {
		return name
	}
	for word := range strings.FieldsSeq(string(out)) {
		if number, found := strings.CutPrefix(word, "v="); found {
			return name + " " + number
		}
	}
	return name
}

// table is one of Markdown. Rows without a value are left out.
type table struct {
	title   string
	text    string
	columns []string // beside the first, which has the names of the rows
	rows    [][]string
}

// none stands for what was not measured.
const none = "–"

func (t *table) add(name string, cells ...string) {
	if slices.ContainsFunc(cells, func(cell string) bool { return strings.Trim(cell, none+"/ ") != "" }) {
		t.rows = append(t.rows, append([]string{name}, cells...))
	}
}

func (t *table) markdown() string {
	if len(t.rows) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %s\n\n%s\n\n| | %s |\n|---|%s\n", t.title, t.text, strings.Join(t.columns, " | "), strings.Repeat("--:|", len(t.columns)))
	for _, row := range t.rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
	}
	return text.String()
}

// cell shows the median of a name.
func (b book) cell(name string, digits int) string {
	value, found := b.median(name)
	if !found || math.IsInf(value, 0) { // no call, so that no number of decisions is that of one
		return none
	}
	return fmt.Sprintf("%.*f", digits, value)
}

// both shows two medians.
func (b book) both(one, other string, digits int) string {
	return b.cell(one, digits) + " / " + b.cell(other, digits)
}

// onServers shows the median of a name on each kind of server; the name has a %s in its
// place.
func (b book) onServers(name string, digits int) string {
	return b.both(fmt.Sprintf(name, servers[0]), fmt.Sprintf(name, servers[1]), digits)
}

func (r *run) tables() []*table {
	return []*table{r.goalTable(), r.memoryTable(), r.heapTable(), r.serverTable(), r.callerTable(),
		r.processorTable(), r.bytesTable(), r.insideTable(), r.growthTable()}
}

func (r *run) memoryTable() *table {
	t := &table{
		title: "A decision in memory",
		text: "Time as a multiple of the floor, admitted / denied. The floor is 64 shards chosen by a hash, each a mutex and a map that holds one instant, the " +
			"monotonic clock, and a bare bool as the answer; it admits also where the others deny. weir is `Limiter.Allow` with every field of the `Decision`.",
		columns: []string{"hot key, 1 goroutine", fmt.Sprintf("hot key, %d", runtime.GOMAXPROCS(0)),
			fmt.Sprintf("%d keys, 1", r.keys), fmt.Sprintf("%d keys, %d", r.keys, runtime.GOMAXPROCS(0))},
	}
	for _, c := range contenders() {
		var cells []string
		for _, where := range []string{"hot/serial", "hot/parallel", "many/serial", "many/parallel"} {
			cells = append(cells, r.values.both("memory/"+where+"/admitted/"+c.name, "memory/"+where+"/denied/"+c.name, 2))
		}
		t.add(c.title(), cells...)
	}
	return t
}

func (r *run) heapTable() *table {
	t := &table{
		title:   "The heap",
		text:    fmt.Sprintf("What each of %d keys of 20 bytes takes, the text of the key included, and a collection of the garbage with all of them.", r.heapKeys),
		columns: []string{"bytes", "objects", "collection, ms"},
	}
	for _, c := range contenders() {
		name := "heap/" + c.name
		t.add(c.title(), r.values.cell(name+"/bytes", 0), r.values.cell(name+"/objects", 1), r.values.cell(name+"/gc", 1))
	}
	return t
}

func (r *run) serverTable() *table {
	t := &table{
		title: "Through a server",
		text: "Decisions a second as a multiple of redis_rate v10 on go-redis, on Redis / Valkey. weir is `Limiter.Allow` with its default time-out; `bare` is a script " +
			"that checks nothing. Of throttled the calls that fail are counted as decisions.",
	}
	names := []string{"ulule", "throttled", "bare-go-redis", "bare-valkey-go", "redisstore", "valkeystore"}
	t.columns = []string{"ulule", "throttled", "bare go-redis", "bare valkey-go", "weir, go-redis", "weir, valkey-go"}
	for _, s := range situations() {
		var cells []string
		for _, name := range names {
			cells = append(cells, r.values.onServers("server/%s/"+s.name()+"/"+name+"/rate", 2))
		}
		t.add(s.title(r), cells...)
	}
	return t
}

// callerTable is what a caller sees, and what it costs its process.
func (r *run) callerTable() *table {
	t := &table{
		title: "For a caller",
		text: "On Redis / Valkey. The times of a caller and of processors are multiples of those of redis_rate; allocations are a decision's, of the client library " +
			"too; errors are a share of the decisions.",
		columns: []string{"rate", "p50", "p99", "processor, here", "processor, server", "allocations", "decisions a call", "errors"},
	}
	for _, s := range situations() {
		for _, one := range s.remotes {
			name := "server/%s/" + s.name() + "/" + one.name + "/"
			t.add(s.title(r)+": "+one.name, r.values.onServers(name+"rate", 2), r.values.onServers(name+"p50", 2), r.values.onServers(name+"p99", 2),
				r.values.onServers(name+"client", 2), r.values.onServers(name+"server", 2), r.values.onServers(name+"allocs", 1),
				r.values.onServers(name+"together", 1), r.values.onServers(name+"errors", 2))
		}
	}
	return t
}

func (s *situation) title(r *run) string {
	keys := map[string]string{"one": "one key", "many": fmt.Sprintf("%d keys", r.keys), "zipf": "Zipf"}[s.keys]
	callers := fmt.Sprintf("%d callers", s.callers)
	if s.callers == 1 {
		callers = "one caller"
	}
	return callers + ", " + keys + ", " + verdictOf(s.denied)
}

func (r *run) processorTable() *table {
	t := &table{
		title:   "The processor of a server",
		text:    "Time of the processor in the server for a decision, of 64 callers on 10,000 keys, as a multiple of EVALSHA of GET + SET PX; Redis / Valkey.",
		columns: []string{"admitted", "denied"},
	}
	for _, one := range join([]remote{redisRate}, others, bare, allows(shared), allows(alone)) {
		t.add(one.name, r.values.onServers("processor/%s/admitted/"+one.name, 2), r.values.onServers("processor/%s/denied/"+one.name, 2))
	}
	return t
}

func (r *run) bytesTable() *table {
	t := &table{
		title:   "The memory of a server",
		text:    fmt.Sprintf("Bytes for a key of 20 bytes with a life time, and for an entry of a log; the limit has the name `%s`; Redis / Valkey.", nameOfLimit),
		columns: []string{"bytes"},
	}
	for _, list := range [][]kept{keptByOthers, keptInteger, keptShort, keptLong} {
		for _, k := range list {
			t.add(k.name, r.values.onServers("bytes/%s/"+k.name, 0))
		}
	}
	for _, name := range []string{"log-entry", "log-entry-of-1-to-5"} {
		t.add(name, r.values.onServers("bytes/%s/"+name, 1))
	}
	return t
}

func (r *run) insideTable() *table {
	t := &table{
		title: "Inside a server",
		text: "Time of a call (`usec_per_call`) for a decision as a multiple of EVALSHA of GET + SET PX; of several limits in one call as a multiple of as many " +
			"calls; Redis / Valkey.",
		columns: []string{"times"},
	}
	for _, row := range insides() {
		t.add(row.name, r.values.onServers("inside/%s/"+row.name, 2))
	}
	return t
}
