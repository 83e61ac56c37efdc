package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/draw"
	"image/png"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

var svgElement = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// body is a page without its scripts, its styles and its still pictures.
func body(page string) string {
	_, page, _ = strings.Cut(page, "</style>")
	page, _, _ = strings.Cut(page, `<script type="application/json"`)
	return svgElement.ReplaceAllString(page, "<svg/>")
}

// replayPage and comparePage are pages of made-up traces.
func replayPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := full().Document("weir replay --limit gcra:100/1m,burst=20 'odd name.log'").WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func comparePage(t *testing.T) string {
	t.Helper()
	c := NewCollector("gcra:1/1s", "fixed-window:1/1s")
	for i := range int64(200) {
		c.Add(int(i%4), [...]string{"a", hostile, "quiet", "\xff"}[i%4], 1_764_244_800_000_000+i*500_000, i%3, i%5 > 0 || i%4 == 2, i%7 > 0 || i%4 == 2)
	}
	r := c.Comparison(Source{
		Trace: hostile, Format: "jsonl", Key: "key", Store: "memory://", Lines: 201, Bad: 1, BadLines: []BadLine{{"", 3, "the reason", hostile}},
	})
	var b strings.Builder
	if err := r.Document("weir compare").WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// ids are what elements are called, and references to them.
var (
	ids        = regexp.MustCompile(` id="([^"]*)"`)
	headings   = regexp.MustCompile(`<h[23][^>]*>(.*?)</h`)
	references = regexp.MustCompile(` (?:href="#|aria-labelledby="|aria-describedby=")([^"]*)"`)
	elsewhere  = regexp.MustCompile(`(?i)https?:|//|url\(|@import|<script|<link|<img|<iframe|<object|javascript:|\son\w+=`)
	inlined    = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	inData     = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
)

// checkPage checks what holds for every page.
func checkPage(t *testing.T, page string) {
	t.Helper()
	words := body(page)
	seen := map[string]bool{}
	for _, id := range ids.FindAllStringSubmatch(words, -1) {
		if seen[id[1]] {
			t.Errorf("two elements are called %q", id[1])
		}
		seen[id[1]] = true
	}
	for _, to := range references.FindAllStringSubmatch(words, -1) {
		if !seen[to[1]] {
			t.Errorf("nothing is called %q", to[1])
		}
	}
	// Every line chart is in the data, and has a still picture.
	var charts []struct {
		ID     string
		At     []float64
		Series []struct{ Values []float64 }
	}
	found := inData.FindStringSubmatch(page)
	if found == nil {
		t.Fatal("the page has no data")
	}
	if err := json.Unmarshal([]byte(found[1]), &charts); err != nil {
		t.Fatal(err)
	}
	stills := svgElement.FindAllString(page, -1)
	if len(stills) != len(charts) || strings.Count(words, `<div class="chart" id="`) != len(charts) {
		t.Errorf("%d still pictures of %d charts", len(stills), len(charts))
	}
	for _, c := range charts {
		if !strings.Contains(words, `<div class="chart" id="`+c.ID+`"><noscript><svg/></noscript></div>`) {
			t.Errorf("there is no place for the chart %s", c.ID)
		}
		for _, s := range c.Series {
			if len(s.Values) != len(c.At) || len(c.At) < 2 {
				t.Errorf("%s: %d values at %d points", c.ID, len(s.Values), len(c.At))
			}
		}
	}
	for _, svg := range stills {
		if err := wellFormed(svg); err != nil {
			t.Errorf("%v in %s", err, svg)
		}
		for _, style := range regexp.MustCompile(`style="[^"]*"`).FindAllString(svg, -1) {
			if strings.Contains(style, "#") {
				t.Errorf("a picture has a colour of its own, %s: it must be left to the page", style)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Error("a number that is none in a picture")
		}
	}
	for _, section := range strings.Split(words, "<section")[1:] {
		seen := map[string]bool{}
		for _, heading := range headings.FindAllStringSubmatch(section, -1) {
			if seen[heading[1]] {
				t.Errorf("the heading %q stands twice in a section", heading[1])
			}
			seen[heading[1]] = true
		}
	}
	if found := elsewhere.FindString(strings.ReplaceAll(words, "memory://", "")); found != "" {
		t.Errorf("the page has %q: it must need nothing else", found)
	}
	// The policy allows the scripts of the page, and no other.
	scripts := inlined.FindAllStringSubmatch(page, -1)
	if len(scripts) != 2 {
		t.Errorf("%d scripts", len(scripts))
	}
	for _, script := range scripts {
		sum := sha256.Sum256([]byte(script[1]))
		if !strings.Contains(page, "sha256-"+base64.StdEncoding.EncodeToString(sum[:])) {
			t.Error("the policy does not allow a script of the page")
		}
	}
	if strings.ContainsAny(page, "\x1b\u202e\x00") {
		t.Error("something that cannot be seen is on the page")
	}
}

func wellFormed(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestPagesNeedNothingElseAndAreAccessible(t *testing.T) {
	for name, page := range map[string]string{"sim": simHTML(t, madeUp()), "replay": replayPage(t), "compare": comparePage(t)} {
		t.Run(name, func(t *testing.T) { checkPage(t, page) })
	}
}

func TestHostileNamesAreEscaped(t *testing.T) {
	results := madeUp()
	for i, r := range results {
		name := hostile + strconv.Itoa(i)
		r.Scenario, r.About, r.Limit, r.Limits[0].Name, r.Traffic[0].Name, r.Fairness.Top[0].Key = hostile, hostile, name, name, hostile, hostile
	}
	for name, page := range map[string]string{"sim": simHTML(t, results), "compare": comparePage(t)} {
		t.Run(name, func(t *testing.T) {
			checkPage(t, page)
			if !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") {
				t.Error("the name is not shown")
			}
		})
	}
	for _, name := range []string{"x.svg", "x.png"} {
		if err := simulation(results).Plot(io.Discard, name); err != nil {
			t.Error(err)
		}
	}
}

func TestLinesEndBetweenThePartsOfALimit(t *testing.T) {
	for _, c := range []struct{ text, prose, tight template.HTML }{
		{"gcra:10/1m,burst=20", "gcra:10/1m,<wbr>burst=20", "gcra:<wbr>10/1m,<wbr>burst=20"},
		{"1,234 of 5,678, at 23:00", "1,234 of 5,678, at 23:00", "1,234 of 5,678, at 23:00"},
		{"false_denials", "false_denials", "false_<wbr>denials"},
		{"in 5 min", "in 5\u00a0min", "in 5\u00a0min"},
		{"<b>,a:1", "&lt;b&gt;,<wbr>a:1", "&lt;b&gt;,<wbr>a:<wbr>1"},
	} {
		if got := prose(string(c.text)); got != c.prose {
			t.Errorf("prose: %q became %q: must be %q", c.text, got, c.prose)
		}
		if got := tight(string(c.text)); got != c.tight {
			t.Errorf("tight: %q became %q: must be %q", c.text, got, c.tight)
		}
	}
}

func TestReplayPageShowsTheKeysThatTheTextShows(t *testing.T) {
	c := NewCollector("gcra:1/1s")
	for i := range int64(30) {
		c.Add(int(i), fmt.Sprintf("client-%02d", i), i*1_000_000, 1, i < 5)
		c.Add(int(i), fmt.Sprintf("client-%02d", i), i*1_000_000, 1, i < 5)
	}
	d := c.Replay(Source{}).Document("")
	var text, page strings.Builder
	if err := errors.Join(d.WriteText(&text), d.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i := range 30 {
		key := fmt.Sprintf("client-%02d", i)
		if strings.Contains(text.String(), key) != strings.Contains(page.String(), key) {
			t.Errorf("%s is in one of them only", key)
		}
		if strings.Contains(text.String(), key) {
			shown++
		}
	}
	if shown != Top {
		t.Errorf("%d keys are shown", shown)
	}
}

func TestPagesOfTracesShowTheNumbers(t *testing.T) {
	for _, c := range []struct {
		page string
		want []string
	}{
		{replayPage(t), []string{
			"<title>Replay: gcra:100/1m,burst=20</title>", "<dt>admitted</dt><dd>1,107 (72.1\u00a0%)</dd>", "1,107 of 1,536 requests admitted (72.1\u00a0%)",
			"12 of 15 keys denied at least once", `<th scope="row" class="left long">&#34;evil\x1b[2J&#34;</th><td>36</td><td>36</td><td>` + "100\u00a0%</td>",
			"The first 2 of 12 bad lines", "<code>weir replay --limit gcra:100/1m,burst=20 &#39;odd name.log&#39;</code>",
		}},
		{comparePage(t), []string{
			"<title>Comparison of 2 limits</title>", "Denied over time</h3>", ">1 gcra:1/1s</h3>", `data-limit="fixed-window:1/1s"`, "Limits</h3>",
			`<input type="checkbox" value="gcra:1/1s" checked>`,
		}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.page, want) {
				t.Errorf("no %q in\n%s", want, body(c.page))
			}
		}
	}
}

func TestPagesOfNothing(t *testing.T) {
	var replay, compare strings.Builder
	if err := errors.Join(
		NewCollector("gcra:1/1s").Replay(Source{}).Document("").WriteHTML(&replay),
		NewCollector("gcra:1/1s", "gcra:2/1s").Comparison(Source{}).Document("").WriteHTML(&compare),
	); err != nil {
		t.Fatal(err)
	}
	checkPage(t, replay.String())
	checkPage(t, compare.String())
}

func TestPlotRefusesOtherFormats(t *testing.T) {
	for _, name := range []string{"x.gif", "x", "x.svg.txt", ".", "png"} {
		err := simulation(madeUp()).Plot(io.Discard, name)
		if err == nil || !strings.Contains(err.Error(), ".png or .svg") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlotIsAPictureWithItsWords(t *testing.T) {
	svg, dots := plotted(t)
	if err := wellFormed(svg); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"<title>made up, seed 7, 1 min</title>", "<desc>Most admitted to one key in any window, against the limit: gcra 160 in 1 s"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
	if _, err := png.Decode(strings.NewReader(dots)); err != nil {
		t.Error(err)
	}
}

func plotted(t *testing.T) (svg, dots string) {
	t.Helper()
	var files [2]strings.Builder
	for i, name := range []string{"x.svg", "x.PNG"} {
		if err := simulation(madeUp()).Plot(&files[i], name); err != nil {
			t.Fatal(err)
		}
	}
	return files[0].String(), files[1].String()
}

// The digests tell that a picture has changed; to see it, write the page and look.
func TestPagesAreTheGoldenBytes(t *testing.T) {
	var got strings.Builder
	for range 2 {
		got.Reset()
		svg, dots := plotted(t)
		drawn, err := png.Decode(strings.NewReader(dots))
		if err != nil {
			t.Fatal(err)
		}
		pixels := image.NewNRGBA(drawn.Bounds()) // not the file, which depends on how Go compresses
		draw.Draw(pixels, drawn.Bounds(), drawn, drawn.Bounds().Min, draw.Src)
		for _, one := range []struct{ name, content string }{
			{"sim.html", simHTML(t, madeUp())}, {"replay.html", replayPage(t)}, {"compare.html", comparePage(t)},
			{"sim.svg", svg}, {"sim.png", string(pixels.Pix)},
		} {
			fmt.Fprintf(&got, "%x %s\n", sha256.Sum256([]byte(one.content)), one.name)
		}
		fmt.Fprint(&got, body(simHTML(t, madeUp()[1:])))
		if runtime.GOARCH != "amd64" {
			t.Skip("other processors round the coordinates of pictures differently")
		}
		wantGolden(t, "pages.golden", got.String())
	}
}
