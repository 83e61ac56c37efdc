package httplimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// serveAndEnd serves a request, and ends it whatever comes of it.
func serveAndEnd(next http.Handler, w http.ResponseWriter, r *http.Request, end func(*Outcome)) {
	recorded := &recorder{ResponseWriter: w}
	returned := false
	defer func() { // without recover: a panic goes on as it was
		end(recorded.outcome(returned))
	}()
	next.ServeHTTP(recorded.writer(), r)
	returned = true
}

// recorder is a ResponseWriter that remembers what is written.
type recorder struct {
	http.ResponseWriter
	status   int // 0 before it is written
	bytes    int64
	hijacked bool
}

func (w *recorder) outcome(returned bool) *Outcome {
	o := &Outcome{Status: w.status, Bytes: w.bytes, Header: w.Header()}
	if !returned {
		o.Err = ErrPanicked
	}
	if w.hijacked && w.status == 0 {
		o.Status = http.StatusSwitchingProtocols
	}
	return o
}

func (w *recorder) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // which panics where it is no status
	if w.status == 0 && !w.hijacked && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status // what comes before, such as 103, is no answer
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.implyStatus()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// WriteString and ReadFrom are what io.WriteString and io.Copy look for.
func (w *recorder) WriteString(s string) (int, error) {
	w.implyStatus()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.bytes += int64(n)
	return n, err
}

func (w *recorder) ReadFrom(r io.Reader) (n int64, err error) {
	to, is := w.ResponseWriter.(io.ReaderFrom)
	if !is {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	n, err = to.ReadFrom(r)
	if n > 0 {
		w.implyStatus()
	}
	w.bytes += n
	return n, err
}

func (w *recorder) implyStatus() {
	if w.status == 0 && !w.hijacked {
		w.status = http.StatusOK
	}
}

// Unwrap and FlushError are what http.ResponseController looks for.
func (w *recorder) Unwrap() http.ResponseWriter {
	if _, is := w.ResponseWriter.(http.Hijacker); is {
		return w.ResponseWriter // writer has a Hijack
	}
	return unwrapped{w.ResponseWriter, w}
}

func (w *recorder) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) { // with another error the status is written
		w.implyStatus()
	}
	return err
}

// unwrapped is the ResponseWriter of a recorder that is no http.Hijacker, but may unwrap to
// one: http.ResponseController finds it here, and the recorder sees it.
type unwrapped struct {
	http.ResponseWriter
	recorder *recorder
}

func (w unwrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w unwrapped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.recorder.hijacked = w.recorder.hijacked || err == nil
	return conn, rw, err
}

// flusher and hijacker are for a ResponseWriter that is one.
type flusher struct{ *recorder }

func (w flusher) Flush() {
	w.implyStatus()
	w.ResponseWriter.(http.Flusher).Flush()
}

type hijacker struct{ *recorder }

func (w hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.ResponseWriter.(http.Hijacker).Hijack()
	w.hijacked = w.hijacked || err == nil
	return conn, rw, err
}

// writer returns w with those of http.Flusher, http.Hijacker and http.Pusher that the
// ResponseWriter has, and no others: a handler looks for them to know what it can do.
func (w *recorder) writer() http.ResponseWriter {
	const canFlush, canHijack, canPush = 1, 2, 4
	can := 0
	if _, is := w.ResponseWriter.(http.Flusher); is {
		can |= canFlush
	}
	if _, is := w.ResponseWriter.(http.Hijacker); is {
		can |= canHijack
	}
	p, is := w.ResponseWriter.(http.Pusher)
	if is {
		can |= canPush
	}
	f, h := flusher{w}, hijacker{w}
	switch can {
	case canFlush:
		return f
	case canHijack:
		return h
	case canPush:
		return struct {
			*recorder
			http.Pusher
		}{w, p}
	case canFlush | canHijack:
		return struct {
			*recorder
			http.Flusher
			http.Hijacker
		}{w, f, h}
	case canFlush | canPush:
		return struct {
			*recorder
			http.Flusher
			http.Pusher
		}{w, f, p}
	case canHijack | canPush:
		return struct {
			*recorder
			http.Hijacker
			http.Pusher
		}{w, h, p}
	case canFlush | canHijack | canPush:
		return struct {
			*recorder
			http.Flusher
			http.Hijacker
			http.Pusher
		}{w, f, h, p}
	}
	return w
}
