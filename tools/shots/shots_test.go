package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lookAt(t *testing.T, page string) []string {
	t.Helper()
	return lookAtWidth(t, page, "360")
}

func lookAtWidth(t *testing.T, page, width string) []string {
	t.Helper()
	if _, err := findBrowser(); err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	bad, err := look(folder, []string{width}, []string{"light"}, clip{tall: 1000}, []string{file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "page-"+width+"-light.png")); err != nil {
		t.Error(err)
	}
	return bad
}

const head = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>page</title></head><body>`

const picture = `<svg viewBox="0 0 100 50" width="100"><text x="5" y="20" font-size="8">one</text><text x="60" y="20" font-size="8">two</text></svg>`

const (
	edge   = `background:linear-gradient(red,red) local,linear-gradient(red,red) scroll`
	sticky = `style="position:sticky;left:0"`
)

// wide is a table that is wider than a phone, in a box of a style, whose first column has
// attributes.
func wide(box, first string) string {
	return `<div aria-label="numbers" style="` + box + `"><table><tr><td ` + first + `>a</td><td><div style="width:500px">b</div></td></tr></table></div>`
}

func TestAGoodPageIsGood(t *testing.T) {
	if bad := lookAt(t, head+picture+wide("overflow-x:auto;"+edge, sticky)); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
}

func TestATableThatScrollsOnADeskIsCaught(t *testing.T) {
	page := head + picture + strings.Replace(wide("overflow-x:auto;"+edge, sticky), "500px", "2000px", 1)
	if bad := strings.Join(lookAtWidth(t, page, "1280"), "\n"); !strings.Contains(bad, "the table numbers does not fit a desk") {
		t.Errorf("it was not caught; what was: %q", bad)
	}
}

func TestBadPagesAreCaught(t *testing.T) {
	for want, body := range map[string]string{
		"error in the console: console.error": picture + `<script>console.error("x")</script>`,
		"error in the console: Uncaught":      picture + `<script>throw new Error("x")</script>`,
		"request to http://127.0.0.1:9/x.png": picture + `<img src="http://127.0.0.1:9/x.png" alt="x">`,
		"the page is 900 px wide":             picture + `<div style="position:absolute;left:0;width:900px">x</div>`,
		"no picture is shown":                 `<p>x</p><div style="display:none">` + picture + `</div>`,
		`the labels "one" and "two" touch`:    strings.Replace(picture, `x="60"`, `x="10"`, 1),
		`the label "two" sticks out`:          strings.Replace(picture, `x="60"`, `x="95"`, 1),
		`the label "o…" is cut`:               strings.Replace(picture, "one", "o…", 1),
		`the text "bbbb" sticks out`:          picture + `<table style="table-layout:fixed;width:40px"><tr><td>bbbb</td><td>c</td></tr></table>`,
		"numbers is cut off at the side":      picture + wide("overflow:hidden", ""),
		"numbers scrolls sideways and does":   picture + wide("overflow-x:auto", sticky),
		"first column of numbers does not":    picture + wide("overflow-x:auto;"+edge, ""),
	} {
		t.Run(want, func(t *testing.T) {
			if bad := strings.Join(lookAt(t, head+body), "\n"); !strings.Contains(bad, want) {
				t.Errorf("it was not caught; what was: %q", bad)
			}
		})
	}
}
