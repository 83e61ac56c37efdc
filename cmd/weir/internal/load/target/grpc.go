package target

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/cmd/weir/internal/load"
)

type grpcTarget struct {
	Service
	host    string
	clients []*client.Client // one for each connection
	asked   atomic.Uint64
}

// openGRPC makes a target that sends to the host of the URL alone: it uses no proxy.
func (s *Service) openGRPC(u *url.URL) (Target, error) {
	t := &grpcTarget{Service: *s, host: u.Host}
	for range max(s.Connections, 1) {
		c, err := client.New(u.Host, &client.Options{
			Plaintext: u.Scheme == "grpc", Token: s.Token, Timeout: s.Timeout, Attempts: 1, Dial: []grpc.DialOption{grpc.WithNoProxy()},
		})
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.clients = append(t.clients, c)
	}
	return t, nil
}

func (t *grpcTarget) request(key string) client.Request {
	return client.Request{Identifier: key, Dimension: weirv1.Dimension(weirv1.Dimension_value[t.Dimension]), Endpoint: t.Endpoint}
}

func (t *grpcTarget) Ask(ctx context.Context, key string) load.Answer {
	next := t.clients[t.asked.Add(1)%uint64(len(t.clients))]
	v, err := next.Check(ctx, t.request(key))
	if err != nil {
		return load.Answer{Failure: kindOfCall(err)}
	}
	return load.Answer{Allowed: v.Allowed, Degraded: v.Degraded}
}

// kindOfCall is the code of gRPC.
func kindOfCall(err error) string {
	var e *client.Error
	if !errors.As(err, &e) {
		return "other"
	}
	return e.Code.String()
}

// Probe connects, so that no request of the load waits for it.
func (t *grpcTarget) Probe(ctx context.Context) error {
	for _, c := range t.clients {
		_, err := c.Quota(ctx, t.request("weir"))
		var e *client.Error
		if errors.As(err, &e) && e.Code != codes.Unavailable && e.Code != codes.DeadlineExceeded {
			return &Refused{t.host + ": " + e.Error()}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *grpcTarget) Close() (err error) {
	for _, c := range t.clients {
		err = errors.Join(err, c.Close())
	}
	return err
}
