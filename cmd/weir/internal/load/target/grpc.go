package target

import (
	"context"
	"errors"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/cmd/weir/internal/load"
)

type grpcTarget struct {
	Service
	host   string
	client *client.Client
}

// openGRPC makes a target that sends to the host of the URL alone: it uses no proxy.
func (s *Service) openGRPC(u *url.URL) (Target, error) {
	c, err := client.New(u.Host, &client.Options{
		Plaintext: u.Scheme == "grpc", Token: s.Token, Timeout: s.Timeout, Attempts: 1, Dial: []grpc.DialOption{grpc.WithNoProxy()},
	})
	if err != nil {
		return nil, err
	}
	return &grpcTarget{*s, u.Host, c}, nil
}

func (t *grpcTarget) request(key string) client.Request {
	return client.Request{Identifier: key, Dimension: weirv1.Dimension(weirv1.Dimension_value[t.Dimension]), Endpoint: t.Endpoint}
}

func (t *grpcTarget) Ask(ctx context.Context, key string) load.Answer {
	v, err := t.client.Check(ctx, t.request(key))
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

func (t *grpcTarget) Probe(ctx context.Context) error {
	_, err := t.client.Quota(ctx, t.request("weir"))
	var e *client.Error
	if errors.As(err, &e) && e.Code != codes.Unavailable && e.Code != codes.DeadlineExceeded {
		return &Refused{t.host + ": " + e.Error()}
	}
	return err
}

func (t *grpcTarget) Close() error { return t.client.Close() }
