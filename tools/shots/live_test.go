package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var update = flag.Bool("update", false, "renew the picture of the page in the docs")

// served is a weir serve.
type served struct{ http, admin string }

const token = "token-of-ops"

// hostile is what somebody sends to run a script in the page.
const hostile = `<img src=x onerror="window.hacked=1">`

// serveWeir builds the command and runs it with callers, an audit and further settings.
func serveWeir(t *testing.T, settings string) served {
	t.Helper()
	folder := t.TempDir()
	command := filepath.Join(folder, "weir")
	build := exec.Command("go", "build", "-o", command, "./cmd/weir")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "GOWORK=") // with all modules, as in the project
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sum := sha256.Sum256([]byte(token))
	for name, text := range map[string]string{
		"weir.yaml": "version: 1\nlisten: {grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}\nauth: {file: callers.yaml}\naudit: {folder: audit}\n" +
			"shutdown: {drain: 0s}\n" + settings,
		"callers.yaml": "version: 1\ncallers: [{name: ops, role: write, tenant: default, token_sha256: " + hex.EncodeToString(sum[:]) + "}]\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	serving := exec.Command(command, "serve", "--config", filepath.Join(folder, "weir.yaml"))
	said, err := serving.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	var s served
	for s.admin == "" && lines.Scan() {
		if found := regexp.MustCompile(`msg=serving .*http=(\S+) admin=(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			s = served{"http://" + found[1], "http://" + found[2]}
		} else {
			t.Log(lines.Text())
		}
	}
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, said) }) // until it ends
	t.Cleanup(func() {
		if err := serving.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		rest.Wait()
		if err := serving.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
	if s.admin == "" {
		t.Fatal("it does not say where it serves")
	}
	return s
}

// send sends JSON as the operator.
func send(t *testing.T, method, url string, body any) (status int, text string) {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(method, url, strings.NewReader(string(sent)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(got)
}

// rules adds rules, one of them in shadow, and an override whose reason is hostile. They are in
// force when it returns.
func (s served) rules(t *testing.T) {
	t.Helper()
	type object map[string]any
	for _, rule := range []object{
		{"id": "login", "match": object{"endpoints": []string{"POST /login"}}, "key": []string{"ip"}, "limit": "gcra:20/1m"},
		{"id": "user", "key": []string{"user"}, "limit": "gcra:300/1m,burst=60"},
		{"id": "trial", "match": object{"endpoints": []string{"/orders/"}}, "key": []string{"user"}, "limit": "sliding-counter:10/1h", "mode": "shadow"},
	} {
		if status, text := send(t, "POST", s.admin+"/api/v1/rules", rule); status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
	}
	_, listed := send(t, "GET", s.admin+"/api/v1/rules", nil)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // until they are in force
		if _, text := send(t, "GET", s.http+"/api/v1/quota?identifier=x&dimension=USER&endpoint=/", nil); policyVersion(text) == policyVersion(listed) && policyVersion(text) != "" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the rules are never in force: %s", text)
		}
	}
	override := object{"rule_id": "user", "limit": "gcra:1/1h", "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "reason": hostile}
	if status, text := send(t, "POST", s.admin+"/api/v1/users/vip/override", override); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
}

// policyVersion is that of an answer.
func policyVersion(text string) string {
	found := regexp.MustCompile(`"policy_version":"([^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// check decides a request of a user n times.
func (s served) check(t *testing.T, user, method, endpoint string, n int) {
	t.Helper()
	body := map[string]any{"identifier": user, "dimension": "USER", "endpoint": endpoint, "method": method, "attributes": map[string]string{"ip": "192.0.2.7"}}
	for range n {
		if status, text := send(t, "POST", s.http+"/api/v1/check", body); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("%d %s", status, text)
		}
	}
}

// metrics sums the lines of /metrics that match.
func (s served) metrics(t *testing.T, line string) string {
	t.Helper()
	_, text := send(t, "GET", s.admin+"/metrics", nil)
	sum := 0.0
	for _, found := range regexp.MustCompile(`(?m)^`+line+`[^}]*\} (.*)$`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return strconv.FormatFloat(sum, 'f', -1, 64)
}

// tab is a tab of a browser that looks at the page.
type tab struct {
	ctx     context.Context
	origin  string
	mu      sync.Mutex
	wrong   []string
	refused bool // 401 is as it should be
}

// chromium starts a browser for the test; it skips the test where there is none.
func chromium(t *testing.T) context.Context {
	t.Helper()
	browser, err := findBrowser()
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, giveUp := context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(giveUp)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// openTab opens a tab of a width and a colour scheme, and notes what goes wrong in it.
func openTab(t *testing.T, browser context.Context, origin string, width int64, scheme string) *tab {
	t.Helper()
	ctx, shut := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(shut)
	b := &tab{ctx: ctx, origin: origin}
	if err := chromedp.Do(ctx, (&view{width: width, scheme: scheme}).emulate); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.origin+"/ui/") {
			b.wrong = append(b.wrong, "request to "+e.Request.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && (!b.refused || !strings.Contains(e.Entry.Text, "401")) {
			b.wrong = append(b.wrong, e.Entry.Text)
		}
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, "console."+string(e.Type))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += ": " + e.ExceptionDetails.Exception.Description
		}
		b.wrong = append(b.wrong, text)
	}
}

// judge says what went wrong since the last time.
func (b *tab) judge(t *testing.T, where string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		t.Errorf("%s: %s", where, w)
	}
	b.wrong = nil
}

// run evaluates an expression.
func run[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v\n%.200s", err, expression)
	}
	return got
}

// until waits for an expression to be true.
func (b *tab) until(t *testing.T, expression string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		// A page that is being left has nothing to evaluate in.
		if got, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression)); err == nil && got {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%v: never true: %s\n%s", err, expression, run[string](t, b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *tab) visit(t *testing.T, path string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(b.origin+"/ui/"+path)); err != nil {
		t.Fatal(err)
	}
}

// signIn signs in by the keyboard.
func (b *tab) signIn(t *testing.T) {
	t.Helper()
	b.refused = true
	b.visit(t, "")
	b.tabTo(t, `document.activeElement.id === "token"`)
	b.press(t, token+"\r")
	b.until(t, live)
	b.judge(t, "sign in")
}

// live is true once the numbers change.
const live = `Number(document.getElementById("live")?.dataset.events ?? 0) > 0 && document.querySelectorAll(".chart canvas").length === 2`

func (b *tab) press(t *testing.T, keys string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		t.Fatal(err)
	}
}

// tabTo presses Tab until an expression holds. Whatever has the focus on the way is seen to
// have it.
func (b *tab) tabTo(t *testing.T, expression string) {
	t.Helper()
	for range 80 {
		b.press(t, kb.Tab)
		seen := run[struct {
			There, Seen bool
			Name        string
		}](t, b, `(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			return { There: Boolean(`+expression+`), Name: e.outerHTML.slice(0, 80),
				Seen: e === document.body || s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.right > 0 && r.left < innerWidth }; })()`)
		if !seen.Seen {
			t.Errorf("it is not seen to have the focus: %s", seen.Name)
		}
		if seen.There {
			return
		}
	}
	t.Fatalf("Tab never gets there: %s", expression)
}

// axeFile is axe-core, which scripts/setup installs where npm is.
var axeFile = filepath.Join("..", "axe", "node_modules", "axe-core", "axe.min.js")

// violations are what axe-core finds.
const violations = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
	.then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html.slice(0, 120) + " " + n.any.map((a) => a.message).join("; ")).join(" | ")))`

// layout are the places where a page is wider than its window.
const layout = `(() => { const root = document.documentElement, wide = [];
	if (root.scrollWidth > root.clientWidth) for (const e of document.querySelectorAll("main *, header *")) if (!e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth + 1) wide.push(e.outerHTML.slice(0, 80));
	return wide; })()`

// TestThePageOfTheService looks at each page as a phone and as a desk show it, light and dark:
// nothing fails, nothing comes from elsewhere, nothing is wider than the window, axe-core finds
// nothing, no text that somebody sends runs as a script, and no key is shown.
func TestThePageOfTheService(t *testing.T) {
	browser := chromium(t)
	axe, err := os.ReadFile(axeFile)
	if errors.Is(err, os.ErrNotExist) {
		t.Run("axe-core", func(t *testing.T) {
			t.Skip("axe-core is not installed: tools/axe has it, and scripts/setup installs it where npm is. The rest is tested without it")
		})
	} else if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []bool{false, true} {
		s := serveWeir(t, fmt.Sprintf("ui: {show_keys: %t}\n", shown))
		s.rules(t)
		for i := range 8 {
			s.check(t, fmt.Sprintf("marked-4711-%d", i), "GET", "/orders/1", 4+2*i)
		}
		s.check(t, "marked-4711"+hostile, "POST", "/login", 30)
		for _, width := range []int64{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				// With -update each width in each scheme; else each of them once.
				if phone, dark := width == 360, scheme == "dark"; !*update && (phone != dark || shown && !phone) {
					continue
				}
				b := openTab(t, browser, s.admin, width, scheme)
				b.signIn(t)
				for _, path := range []string{"", "?range=hour", "rules", "rule?id=trial", "policy", "explain", "audit", "rule?id=" + "none%3Cimg%20src=x%20onerror=alert(1)%3E"} {
					where := fmt.Sprintf("/ui/%s, %d px, %s, keys %t", path, width, scheme, shown)
					gone := strings.HasPrefix(path, "rule?id=none")
					b.visit(t, path)
					switch {
					case path == "" || path[0] == '?':
						b.until(t, live)
					case path == "rule?id=trial":
						b.until(t, `document.querySelectorAll(".chart canvas").length === 1`)
					case path == "explain":
						b.tabTo(t, `document.activeElement.id === "attributes"`)
						b.press(t, "user=vip")
						b.tabTo(t, `document.activeElement.textContent === "Explain"`)
						b.press(t, "\r")
						b.until(t, `document.getElementById("answer").textContent.includes("onerror")`)
					}
					if wide := run[[]string](t, b, layout); len(wide) > 0 {
						t.Errorf("%s: wider than the window: %q", where, wide)
					}
					if run[bool](t, b, `window.hacked !== undefined || document.querySelector("img") !== null`) {
						t.Errorf("%s: a text has run as a script", where)
					}
					if text := run[string](t, b, "document.documentElement.outerHTML"); strings.Contains(text, "marked") && !shown {
						t.Errorf("%s: a key is shown", where)
					} else if shown && path == "" && !strings.Contains(text, "onerror") {
						t.Errorf("%s: the hostile key is not shown", where)
					}
					if axe != nil {
						if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](string(axe)+"\n;0")); err != nil {
							t.Fatal(err)
						}
						for _, v := range run[[]string](t, b, violations) {
							t.Errorf("%s: axe-core: %s", where, v)
						}
					}
					if gone {
						b.mu.Lock()
						b.wrong = nil // 404 is in the console
						b.mu.Unlock()
					}
					b.judge(t, where)
				}
				if !shown && width == 1280 && scheme == "light" {
					b.picture(t, s)
				}
			}
		}
	}
}

// picture looks at the page for the guide.
func (b *tab) picture(t *testing.T, s served) {
	t.Helper()
	if *update {
		for end := time.Now().Add(40 * time.Second); time.Now().Before(end); {
			for i := range 9 {
				s.check(t, fmt.Sprint("user", i), "GET", "/orders/1", 1+i/2)
			}
			s.check(t, "ann", "POST", "/login", 2)
		}
	}
	b.visit(t, "")
	b.until(t, live)
	beyond := true
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: 1280, Height: 1640, Scale: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(shot.Data) < 10_000 {
		t.Errorf("a picture of %d bytes", len(shot.Data))
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", "docs", "images", "page-1280-light.png"), shot.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestThePageIsLiveAndUsedByTheKeyboard: its numbers become those of /metrics without a
// reload, it pauses, and a rule in shadow is made to count, all without a mouse.
func TestThePageIsLiveAndUsedByTheKeyboard(t *testing.T) {
	browser := chromium(t)
	s := serveWeir(t, "")
	s.rules(t)
	s.check(t, "ann", "GET", "/orders/1", 1)
	b := openTab(t, browser, s.admin, 1280, "light")
	b.signIn(t)
	s.check(t, "ann", "GET", "/orders/1", 80)
	for name, result := range map[string]string{"allowed": "allowed", "denied": "denied", "allowed in shadow": "shadow_allowed", "denied in shadow": "shadow_denied"} {
		want := s.metrics(t, `rate_limiter_requests_total\{[^}]*result="`+result+`"`)
		if want == "0" {
			t.Errorf("nothing was %s", name)
		}
		b.until(t, fmt.Sprintf(`document.querySelector('[data-total=%q]').textContent.replaceAll(",", "") === %q`, name, want))
	}
	// A link keeps the focus while the numbers change.
	b.tabTo(t, `document.activeElement.textContent === "trial"`)
	before := run[int](t, b, `Number(document.getElementById("live").dataset.events)`)
	b.until(t, fmt.Sprintf(`Number(document.getElementById("live").dataset.events) > %d`, before+1))
	if !run[bool](t, b, `document.activeElement.textContent === "trial"`) {
		t.Error("the focus is lost when the numbers change")
	}
	b.press(t, "\r")
	b.until(t, `document.querySelector("h1")?.textContent === "Rule trial"`)
	want := s.metrics(t, `rate_limiter_rule_decisions_total\{[^}]*result="shadow_denied",rule="trial"`)
	if text := run[string](t, b, `document.getElementById("preview").textContent`); want == "0" || !strings.Contains(text, "have denied "+want+" of 81 requests") {
		t.Errorf("%s: %q", want, text)
	}
	b.tabTo(t, `document.activeElement.textContent.startsWith("Enforce")`)
	b.press(t, "\r")
	b.until(t, `document.querySelector("[role=status]")?.textContent.includes("set to enforce")`)
	b.visit(t, "")
	b.until(t, live)
	b.until(t, `document.querySelector("#rules tbody tr:last-child td").textContent === "enforce"`)
	b.tabTo(t, `document.activeElement.id === "pause"`)
	b.press(t, " ")
	b.until(t, `document.getElementById("state").textContent === "Paused."`)
	b.press(t, " ")
	b.until(t, `document.getElementById("state").textContent.startsWith("Live")`)
	b.judge(t, "by the keyboard")
}
