package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// drive clicks through a page and says what it has found; it is run once the page has
// drawn itself.
const drive = `(() => {
  const pixels = () => [...document.querySelectorAll(".chart canvas")].map((c) => c.toDataURL());
  const click = (text) => [...document.querySelectorAll("figure button")].find((b) => b.textContent === text).click();
  const before = pixels();
  click("1 failover");
  // uPlot draws before the next frame.
  const drawn = (next) => requestAnimationFrame(() => requestAnimationFrame(next));
  return new Promise((done) => drawn(() => {
    const zoomed = pixels();
    click("all");
    drawn(() => {
      const all = pixels();
      const figures = [...document.querySelectorAll("figure[data-limit]")];
      const box = document.querySelector(".limits input");
      box.click();
      done({
        Charts: before.length,
        Zoomed: zoomed.filter((p, i) => p !== before[i]).length,
        Back: all.filter((p, i) => p === before[i]).length,
        Figures: figures.length,
        Hidden: figures.filter((f) => f.hidden).length,
        Stills: document.querySelectorAll(".chart svg").length,
      });
    });
  }));
})()`

type driven struct{ Charts, Zoomed, Back, Figures, Hidden, Stills int }

// A reader zooms to a fault and back, and hides a limit; nothing fails in the console.
func TestAPageCanBeUsed(t *testing.T) {
	browser, err := findBrowser()
	if err != nil {
		t.Skip(err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	made := exec.Command("go", "run", "./cmd/weir", "sim", "fail-over", "--duration", "2m30s", "--html", page)
	made.Dir = filepath.Join("..", "..")
	made.Env = append(os.Environ(), "GOWORK=") // with all modules, as in the project
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox)...)
	defer cancel()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	ctx, giveUp := context.WithTimeout(ctx, time.Minute)
	defer giveUp()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	v := &view{file: page, width: 1280, scheme: "light", clip: clip{tall: 1000}}
	var acted driven
	v.act = func(ctx context.Context) (err error) {
		acted, err = chromedp.Run(ctx, chromedp.Evaluate[driven](drive, chromedp.EvalAwaitPromise))
		return err
	}
	if err := v.open(ctx); err != nil {
		t.Fatal(err)
	}
	// Three charts over time zoom together; the three curves and the waits stay.
	if want := (driven{Charts: 7, Zoomed: 3, Back: 7, Figures: 9, Hidden: 3}); acted != want {
		t.Errorf("the page did %+v, want %+v", acted, want)
	}
	if bad := v.judge(); bad != nil {
		t.Error(bad)
	}
}
