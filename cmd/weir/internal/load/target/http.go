package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/weirgo/weir/cmd/weir/internal/load"
)

// checkRoute is the route of a service, where a URL has no path.
const checkRoute = "/api/v1/check"

// mostBody is the most bytes of an answer that are read.
const mostBody = 64 << 10

type httpTarget struct {
	Service
	url    string
	client *http.Client
}

// openHTTP makes a target that sends to the host of the URL alone: it uses no proxy and
// follows no redirect.
func (s *Service) openHTTP(u *url.URL) Target {
	to := *u
	if to.Path == "" || to.Path == "/" {
		to.Path = checkRoute
	}
	return &httpTarget{*s, to.String(), &http.Client{
		Timeout: s.Timeout,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: s.Callers, ForceAttemptHTTP2: true, TLSHandshakeTimeout: s.Timeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// checkBody is what the route reads.
type checkBody struct {
	Identifier string `json:"identifier"`
	Dimension  string `json:"dimension"`
	Endpoint   string `json:"endpoint"`
	Cost       int    `json:"cost"`
}

func (t *httpTarget) Ask(ctx context.Context, key string) load.Answer {
	answer, err := t.check(ctx, key, 1)
	if err != nil {
		answer.Failure = kindOf(err)
	}
	return answer
}

// check sends a check. A Failure of the answer is that of the service, and the error that
// of the way there.
func (t *httpTarget) check(ctx context.Context, key string, cost int) (load.Answer, error) {
	body, err := json.Marshal(checkBody{key, t.Dimension, t.Endpoint, cost})
	if err != nil {
		return load.Answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return load.Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if t.Token != "" {
		request.Header.Set("Authorization", "Bearer "+t.Token)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return load.Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBody))
	if err != nil {
		return load.Answer{}, err
	}
	return answerOf(response, text), nil
}

// answerOf reads an answer: a denial has the status 429, and so has the service's limit of
// its callers, which is a problem.
func answerOf(r *http.Response, text []byte) load.Answer {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var body struct {
		Allowed  *bool `json:"allowed"`
		Degraded bool  `json:"degraded"`
	}
	switch {
	case r.StatusCode == http.StatusTooManyRequests && media == "application/problem+json":
		return load.Answer{Failure: "self-limited"}
	case r.StatusCode != http.StatusOK && r.StatusCode != http.StatusTooManyRequests:
		return load.Answer{Failure: fmt.Sprintf("HTTP %d", r.StatusCode)}
	case json.Unmarshal(text, &body) != nil || body.Allowed == nil || *body.Allowed != (r.StatusCode == http.StatusOK):
		return load.Answer{Failure: "not an answer of a check"}
	}
	return load.Answer{Allowed: *body.Allowed, Degraded: body.Degraded}
}

// kindOf is the kind of an error on the way.
func kindOf(err error) string {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "time-out"
	}
	return "connection"
}

func (t *httpTarget) Probe(ctx context.Context) error {
	answer, err := t.check(ctx, "weir", 0)
	switch {
	case err != nil:
		return err
	case answer.Failure != "":
		return &Refused{t.url + ": " + answer.Failure}
	}
	return nil
}

func (t *httpTarget) Close() error {
	t.client.CloseIdleConnections()
	return nil
}
