package trace

// fields is what a parser finds in a line. The key may share memory with the line: it is valid until the next line.
type fields struct {
	at   int64
	key  []byte
	cost int64
}

// parser reads one line, which is not blank. It returns "" or why the line cannot be used; then f holds nothing of value. It
// returns isHeader where the line is no request and says something of those after it; so it is given all lines, in order.
type parser interface {
	parse(line []byte, f *fields) (reason string)
}

// isHeader is what a parser returns for a line of the format that is no request.
const isHeader = "it is no request"

// format is one way to write a trace.
type format struct {
	name    string
	sorted  bool // by time unless told otherwise
	records bool // of several lines, by the quotes of CSV
	keys    []Key
	parser  func(o *Options) parser
	looks   func(line []byte) bool // whether a line that cannot be used was still meant for this format; nil: never detected
}

const (
	auto    = "auto"
	csvName = "csv"
)

var (
	ownKey   = []Key{KeyDefault}
	hostKeys = []Key{KeyDefault, KeyHost, KeyPath, KeyHostPath}
	allKeys  = []Key{KeyDefault, KeyHost, KeyPath, KeyHostPath, KeyUserAgent}
)

// formats is the table of all formats. Where one is a special case of another it stands before it: see detect.
//
// CSV is never detected: its header tells neither which column is the time nor what unit that has, and a guess that is
// wrong would give a report that looks right.
var formats = []format{
	{name: "jsonl", keys: ownKey, parser: func(*Options) parser { return jsonl{} }, looks: looksJSONL},
	{
		name: "combined", sorted: true, keys: allKeys, looks: looksLog,
		parser: func(o *Options) parser { return &accessLog{key: o.Key, combined: true} },
	},
	{
		name: "clf", sorted: true, keys: hostKeys, looks: looksLog,
		parser: func(o *Options) parser { return &accessLog{key: o.Key} },
	},
	{
		name: "nginx-json", sorted: true, keys: allKeys, looks: looksNginx,
		parser: func(o *Options) parser { return newNginx(o.Key) },
	},
	{
		name: "caddy", sorted: true, keys: allKeys, looks: looksCaddy,
		parser: func(o *Options) parser { return newCaddy(o.Key) },
	},
	{
		name: "alb", sorted: true, keys: allKeys, looks: looksALB,
		parser: func(o *Options) parser { return &albLog{key: o.Key} },
	},
	{
		name: "cloudfront", sorted: true, keys: allKeys, looks: looksCloudFront,
		parser: func(o *Options) parser { return &cloudFrontLog{key: o.Key} },
	},
	{
		name: "envoy", sorted: true, keys: allKeys, looks: looksEnvoy,
		parser: func(o *Options) parser { return &envoyLog{key: o.Key} },
	},
	{
		name: csvName, sorted: true, records: true, keys: ownKey,
		parser: func(o *Options) parser { return newCSV(o) },
	},
}

// Formats returns the names that Options.Format knows, in the order in which help should show them.
func Formats() []string {
	names := []string{auto}
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}

// detectors returns a parser for each format, with the default key; nil for a format that is never detected.
func detectors() []parser {
	parsers := make([]parser, len(formats))
	for i := range formats {
		if formats[i].looks != nil {
			parsers[i] = formats[i].parser(&Options{})
		}
	}
	return parsers
}
