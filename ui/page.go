package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/internal/keyhash"
	"github.com/weirgo/weir/internal/uplot"
	"github.com/weirgo/weir/policy"
)

// Options are the optional settings of a Handler. nil means all defaults.
type Options struct {
	// Title names what the page is about, such as the program. "" is "Limits".
	Title string
	// ShowKeys shows the keys of subjects, which are often personal data. false shows a hash
	// of them.
	ShowKeys bool
	// HashKey is the key of the hash that stands for a subject, HMAC-SHA256. Processes with the
	// same one show the same hashes. nil is one of this Handler.
	HashKey []byte
	// Policy returns the policy in force. It is called whenever a page is shown, concurrently.
	// nil: rules are shown by their IDs, and no policy.
	Policy func() Policy
	// Explain says how a request is decided, and why: (*policy.Enforcer).Explain. The page shows
	// no key of it. nil: the page explains nothing.
	Explain func(ctx context.Context, r policy.Request) (policy.Explanation, error)
	// Audit returns what was changed, the newest first, for who sends r. Its error is shown.
	// nil: the page shows none.
	Audit func(r *http.Request) ([]AuditEntry, error)
	// SetMode makes a rule count, or no longer, for who sends r. It is called for those alone
	// whose Account.MayWrite is true, and has to ask again whether they may. Its error is shown.
	// nil: the page changes nothing.
	SetMode func(r *http.Request, c ModeChange) error
	// ManagedBy is a sentence that says where rules are changed, where SetMode is nil. "" is
	// that the page changes nothing.
	ManagedBy string
	// Account says who sends r. nil is nobody, who changes nothing.
	Account func(r *http.Request) Account
}

// Policy is what a page shows of a policy.
type Policy struct {
	// File is the policy in force; nil for none.
	File *policy.File
	// Before is the policy before it, with which it is compared; nil where there was none.
	Before *policy.File
	// Since is when the policy came into force, and Revision that of its text; 0 where there
	// are no revisions.
	Since    time.Time
	Revision int64
	// Err is why a newer text is not in force; nil where there is none. It is shown.
	Err error
}

// AuditEntry is a line about a change.
type AuditEntry struct {
	Time                                         time.Time
	Actor, Action, Target, Result, PolicyVersion string
}

// ModeChange is a change of a rule.
type ModeChange struct {
	// Rule is the ID of the rule, and Mode policy.Enforce or policy.Shadow.
	Rule string
	Mode policy.Mode
	// Version is that of the policy that was shown: Compiled.Version. It is in force.
	Version string
}

// Account is who looks at a page.
type Account struct {
	// Name and Role are shown; "" for nobody.
	Name, Role string
	// MayWrite offers the forms that change something.
	MayWrite bool
	// SignOut offers a form that posts to "sign-out", which is up to what stands in front.
	SignOut bool
}

// Handler shows the page, at the path that it is mounted at with a slash behind it:
//
//	mux.Handle("/limits/", handler)
//
// It looks at the last part of a path alone, and its links are relative, so that it works
// under any path, and behind any proxy. It sends a Content-Security-Policy with which a
// browser loads nothing from elsewhere and runs no script in a page. What changes something
// is refused where a browser sends it for another site (http.CrossOriginProtection).
//
// It is safe for concurrent use. A page costs a look at the seconds of an hour; a stream,
// which a browser opens to see the numbers change, shares what it sends with the other ones.
type Handler struct {
	recorder *Recorder
	options  Options
	cross    *http.CrossOriginProtection
	streams  atomic.Int64

	mu      sync.Mutex
	event   []byte // of the second eventAt
	eventAt int64
}

// New returns a Handler for what a Recorder has seen.
func New(r *Recorder, opts *Options) (*Handler, error) {
	if r == nil {
		return nil, errors.New("ui: the recorder is nil")
	}
	h := &Handler{recorder: r, cross: http.NewCrossOriginProtection(), eventAt: -1}
	if opts != nil {
		h.options = *opts
	}
	if h.options.Title == "" {
		h.options.Title = "Limits"
	}
	if h.options.HashKey == nil {
		h.options.HashKey = make([]byte, 32)
		rand.Read(h.options.HashKey) // never fails
	}
	if h.options.Account == nil {
		h.options.Account = func(*http.Request) Account { return Account{} }
	}
	return h, nil
}

var (
	//go:embed page.html page.css page.js icon.svg
	files     embed.FS
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"digits": digits, "percent": percent, "lapse": lapse, "clock": clock, "used": usedPart,
	}).ParseFS(files, "page.html"))
)

// asset is a file that is the same for everybody.
type asset struct {
	media string
	text  []byte
	tag   string
}

var assets = func() map[string]asset {
	all := map[string]asset{}
	add := func(name, media string, text []byte) {
		sum := sha256.Sum256(text)
		all[name] = asset{media, text, `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	read := func(name string) []byte {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded
		}
		return text
	}
	add("page.css", "text/css; charset=utf-8", append([]byte(uplot.Style+"\n"), read("page.css")...))
	add("page.js", "text/javascript; charset=utf-8", read("page.js"))
	add("uplot.js", "text/javascript; charset=utf-8", []byte(uplot.Script))
	add("icon.svg", "image/svg+xml", read("icon.svg"))
	return all
}()

// IsAsset reports whether a request is for a file that is the same for everybody: scripts, the
// style, the icon. Whatever asks who sends a request may let it pass.
func IsAsset(r *http.Request) bool {
	_, is := assets[last(r)]
	return is
}

// last is the last part of the path of a request.
func last(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }

// page is one that the Handler has.
type page struct {
	get, post func(h *Handler, w http.ResponseWriter, r *http.Request)
}

var pages = map[string]page{
	"":        {get: (*Handler).traffic},
	"rules":   {get: (*Handler).allRules},
	"rule":    {get: (*Handler).rule},
	"policy":  {get: (*Handler).policy},
	"explain": {get: (*Handler).explain, post: (*Handler).explain},
	"audit":   {get: (*Handler).audit},
	"events":  {get: (*Handler).stream},
	"data":    {get: (*Handler).data},
	"mode":    {post: (*Handler).setMode},
}

// maxForm bounds what is posted.
const maxForm = 64 << 10

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	protect(head)
	name := last(r)
	if a, is := assets[name]; is {
		h.asset(w, r, name, a)
		return
	}
	head.Set("Cache-Control", "no-store")
	p, is := pages[name]
	if !is || !strings.Contains(r.URL.Path, "/") {
		h.fail(w, r, http.StatusNotFound, "There is no such page. The path of the page ends with a slash.")
		return
	}
	serve, allowed := p.get, []string{http.MethodGet, http.MethodHead}
	if p.get == nil {
		allowed = nil
	}
	if p.post != nil {
		allowed = append(allowed, http.MethodPost)
	}
	if !slices.Contains(allowed, r.Method) {
		head.Set("Allow", strings.Join(allowed, ", "))
		h.fail(w, r, http.StatusMethodNotAllowed, "The page does not have this method.")
		return
	}
	if r.Method == http.MethodPost {
		if err := h.cross.Check(r); err != nil {
			h.fail(w, r, http.StatusForbidden, "The form was sent by another site.")
			return
		}
		serve = p.post
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			h.fail(w, r, http.StatusBadRequest, "The form cannot be read.")
			return
		}
	}
	serve(h, w, r)
}

// protect has a browser load and run what comes from here alone, and show it in no frame.
func protect(head http.Header) {
	head.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name string, a asset) {
	head := w.Header()
	head.Set("Content-Type", a.media)
	head.Set("ETag", a.tag)
	head.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(a.text))
}

// view is what every page has.
type view struct {
	Title, Heading string
	Tabs           []tab
	Account        Account
	Live           bool // the numbers change
	Content        any
}

type tab struct {
	Path, Name string
	Here       bool
}

// show writes a page.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, name, heading string, content any) {
	v := view{Title: h.options.Title, Heading: heading, Account: h.options.Account(r), Live: name == "traffic", Content: content}
	here := last(r)
	if here == "rule" || here == "rules" {
		here = ""
	}
	for _, t := range []struct {
		path, name string
		has        bool
	}{{"", "Traffic", true}, {"policy", "Policy", h.options.Policy != nil}, {"explain", "Explain", h.options.Explain != nil}, {"audit", "Audit", h.options.Audit != nil}} {
		if t.has {
			v.Tabs = append(v.Tabs, tab{"./" + t.path, t.name, t.path == here})
		}
	}
	var b bytes.Buffer
	if err := render(&b, name, v); err != nil {
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has left reads no answer
}

// render writes a page of a template between the head and the foot of all pages.
func render(b *bytes.Buffer, name string, v view) error {
	for _, part := range []string{"head", name, "foot"} {
		data := any(v)
		if part == name {
			data = v.Content
		}
		if err := templates.ExecuteTemplate(b, part, data); err != nil {
			return fmt.Errorf("ui: %w", err)
		}
	}
	return nil
}

// fail shows what is wrong.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	h.show(w, r, status, "failure", http.StatusText(status), text)
}

// subject is how a key is shown.
func (h *Handler) subject(key string) string {
	if h.options.ShowKeys {
		return strings.ToValidUTF8(key, "\uFFFD")
	}
	return keyhash.Of(h.options.HashKey, key)
}

// WriteSignIn writes a page with a form that posts token, and tenant where tenants is true, to
// "sign-in", which is up to what stands in front of a Handler. message says why, and is "" for
// nothing.
func WriteSignIn(w http.ResponseWriter, status int, title, message string, tenants bool) error {
	var b bytes.Buffer
	err := render(&b, "sign-in", view{Title: title, Heading: "Sign in", Content: struct {
		Message string
		Tenants bool
	}{message, tenants}})
	if err != nil {
		return err
	}
	head := w.Header()
	protect(head)
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has left reads no answer
	return nil
}
