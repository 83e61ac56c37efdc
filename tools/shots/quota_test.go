package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// startAPI runs examples/api, and returns where its API and its page are.
func startAPI(t *testing.T) (api, page string) {
	t.Helper()
	command := filepath.Join(t.TempDir(), "api")
	build := exec.Command("go", "build", "-o", command, "./examples/api")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "GOWORK=") // with all modules, as in the project
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	serving := exec.Command(command, "-listen", "127.0.0.1:0", "-page", "127.0.0.1:0")
	serving.Stderr = os.Stderr
	out, err := serving.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := serving.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := serving.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for _, origin := range []*string{&api, &page} {
		if !lines.Scan() {
			t.Fatalf("it says nothing: %v", lines.Err())
		}
		fields := strings.Fields(lines.Text())
		*origin = strings.TrimSuffix(fields[len(fields)-1], "/api/orders")
	}
	return api, page
}

// askPage clicks until the last answer is a denial, and says what the page shows, and what a
// script of the page can read and call.
const askPage = `(async () => {
  const idle = () => new Promise((done) => {
    const look = () => document.querySelector("button:disabled") ? setTimeout(look, 5) : done();
    look();
  });
  document.getElementById("path").value = "/api/search";
  do {
    document.getElementById("often").click();
    await idle();
  } while (!document.getElementById("answer").textContent.startsWith("429"));
  const api = document.querySelector('meta[name="api"]').content;
  let response;
  do {
    response = await fetch(api + "/api/search", { headers: { "X-Api-Key": "free-key" } });
  } while (response.ok);
  return {
    Origin: location.origin,
    API: api,
    Answer: document.getElementById("answer").textContent,
    Rows: [...document.querySelectorAll("#limits tr")].map((row) => row.dataset.limit + " " + row.querySelector("meter").max),
    Left: document.querySelector('tr[data-limit="search"] td:nth-child(2)').textContent,
    RateLimit: response.headers.get("RateLimit"),
    RetryAfter: response.headers.get("Retry-After"),
    Problem: await response.json(),
  };
})()`

type asked struct {
	Origin, API, Answer, Left, RateLimit, RetryAfter string
	Rows                                             []string
	Problem                                          struct {
		Violated []string `json:"violated-policies"`
	}
}

// TestAPageOfAnotherOriginReadsItsQuota: the page of examples/api calls the API across
// origins until it is denied, and the browser shows it the headers of all answers.
func TestAPageOfAnotherOriginReadsItsQuota(t *testing.T) {
	browser, err := findBrowser()
	if err != nil {
		t.Skip(err)
	}
	api, page := startAPI(t)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox)...)
	defer cancel()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	ctx, giveUp := context.WithTimeout(ctx, time.Minute)
	defer giveUp()
	v := &view{width: 1280, scheme: "light"}
	if err := chromedp.Do(ctx, v.emulate); err != nil {
		t.Fatal(err)
	}
	var elsewhere, broken []string
	if err := chromedp.Listen(ctx, func(event any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !strings.HasPrefix(url, api+"/") && !strings.HasPrefix(url, page+"/") && url != "data:," {
				elsewhere = append(elsewhere, url)
			}
		case *log.EventEntryAdded:
			if !strings.Contains(e.Entry.Text, "status of 429") { // every denial is an entry
				broken = append(broken, e.Entry.Text)
			}
		case *runtime.EventExceptionThrown:
			broken = append(broken, e.ExceptionDetails.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(page+"/")); err != nil {
		t.Fatal(err)
	}
	got, err := chromedp.Run(ctx, chromedp.Evaluate[asked](askPage, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if got.Origin != page || got.API != api || got.Origin == got.API {
		t.Errorf("a page of %s calls %s", got.Origin, got.API)
	}
	if fmt.Sprint(got.Rows) != "[api 10 search 5 org 12000]" || got.Left != "0" || !strings.HasPrefix(got.Answer, "429: denied, ask again in ") {
		t.Errorf("the page shows %q, %q left, %q", got.Rows, got.Left, got.Answer)
	}
	if !strings.Contains(got.RateLimit, `"search";r=0;t=`) || got.RetryAfter == "" || fmt.Sprint(got.Problem.Violated) != "[search]" {
		t.Errorf("a script reads %q, Retry-After %q, %v", got.RateLimit, got.RetryAfter, got.Problem)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(elsewhere) > 0 || len(broken) > 0 {
		t.Errorf("requests to %q; errors %q", elsewhere, broken)
	}
}
