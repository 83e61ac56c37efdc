package envoy

import (
	"errors"
	"io"
	"net/http"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// maxBody is the most bytes of a request to /json.
const maxBody = 64 << 10

// JSONHandler returns the handler of /json: it takes a RateLimitRequest as JSON, by any
// method, and answers a RateLimitResponse with status 200 (OK) or 429 (over a limit). A
// request that is not valid, and one that the store did not decide, is 400; a body of
// more than 64 KiB is 413.
func (s *Service) JSONHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			answerStatus(w, http.StatusRequestEntityTooLarge)
			return
		}
		var req pb.RateLimitRequest
		if err != nil || protojson.Unmarshal(body, &req) != nil {
			s.requestErrors.Add(1)
			answerStatus(w, http.StatusBadRequest)
			return
		}
		answer, err := s.ShouldRateLimit(r.Context(), &req)
		if err != nil {
			answerStatus(w, http.StatusBadRequest)
			return
		}
		text, err := protojson.Marshal(answer)
		if err != nil {
			answerStatus(w, http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if answer.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(text) // a client that is gone wants no answer
	})
}

// HealthHandler returns the handler of /healthcheck: 200 and "OK", or 500 where
// Options.Healthy says so.
func (s *Service) HealthHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.opts.Healthy != nil && !s.opts.Healthy() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "OK")
	})
}

// ConfigHandler returns the handler of /rlconfig: the limits that decide, one a line. It
// shows keys and values of the configuration, so it belongs on a listener for operators.
func (s *Service) ConfigHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if c := s.Config(); c != nil {
			_, _ = io.WriteString(w, c.Dump())
		}
	})
}

func answerStatus(w http.ResponseWriter, code int) { http.Error(w, http.StatusText(code), code) }
