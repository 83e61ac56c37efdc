package client

import (
	"context"
	"crypto/tls"

	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Client calls one service. Which call to use:
//
//   - Check: may this request pass all limits that the policy has for it?
//   - Quota: how do these limits stand?
//   - Allow, AllowN: may this pass one limit, by its name?
//   - Reserve: take an estimate now, and settle the actual cost later.
//   - Reset, ResetLimit: forget what was counted; the role write.
//
// A Client is safe for concurrent use, and has one connection. A call costs one round
// trip for each attempt.
type Client struct {
	conn  *grpc.ClientConn
	rpc   weirv1.RateLimiterClient
	opts  Options
	local *local // nil but for weir.FailLocal
}

// New returns a Client of the service at a target, such as "limits.example.com:8081" or
// any other that grpc.NewClient takes. It sends nothing: the first call connects. An
// option outside its bounds gives an error that matches ErrInvalid, and a target that
// cannot be one the error of gRPC.
func New(target string, opts *Options) (*Client, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{opts: o}
	if o.Local != nil {
		if c.local, err = newLocal(o.Local); err != nil {
			return nil, err
		}
	}
	var secure credentials.TransportCredentials
	switch {
	case o.Plaintext:
		secure = insecure.NewCredentials()
	case o.TLS != nil:
		secure = credentials.NewTLS(o.TLS)
	default:
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	// A retry policy of the name service would send charges again without a key.
	dial := []grpc.DialOption{grpc.WithTransportCredentials(secure), grpc.WithDisableRetry()}
	if o.Token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer{o.Token, !o.Plaintext}))
	}
	if c.conn, err = grpc.NewClient(target, append(dial, o.Dial...)...); err != nil {
		return nil, err
	}
	c.rpc = weirv1.NewRateLimiterClient(c.conn)
	return c, nil
}

// Close ends the connection. Calls that are under way fail, and later ones, too, in
// every failure mode.
func (c *Client) Close() error { return c.conn.Close() }

// bearer sends a token.
type bearer struct {
	token  string
	secure bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

// Allow takes one unit of the limit with a name, for a key of 1 to 1024 bytes.
func (c *Client) Allow(ctx context.Context, limit, key string) (Decision, error) {
	r, err := send(ctx, c, c.rpc.Allow, &weirv1.AllowRequest{LimitName: limit, Key: key})
	if err != nil {
		return c.answer(ctx, limit, key, 1, err)
	}
	return decisionOf(r, r.GetDegraded(), r.GetReplayed()), nil
}

// AllowN takes n units of the limit with a name, all or none. 0 is a look. Above the
// limit the answer is a denial with RetryAfter weir.Never; below 0 it is an error.
func (c *Client) AllowN(ctx context.Context, limit, key string, n int64) (Decision, error) {
	r, err := send(ctx, c, c.rpc.AllowN, &weirv1.AllowNRequest{LimitName: limit, Key: key, N: n})
	if err != nil {
		return c.answer(ctx, limit, key, n, err)
	}
	return decisionOf(r, r.GetDegraded(), r.GetReplayed()), nil
}

// Check asks all limits that the policy of the service has for a request, all or
// nothing, and charges its cost where it is allowed.
func (c *Client) Check(ctx context.Context, r Request) (Verdict, error) {
	answer, err := send(ctx, c, c.rpc.CheckRateLimit, r.check())
	if err != nil {
		d, err := c.answerCheck(ctx, &r, err)
		return Verdict{Decision: d}, err
	}
	v := verdictOf(answer)
	v.Replayed = answer.GetReplayed()
	return v, nil
}

// Quota says how the limits of a request stand, and changes nothing. Allowed and
// RetryAfter are those of one unit; Cost and Timestamp of the request are ignored.
func (c *Client) Quota(ctx context.Context, r Request) (Verdict, error) {
	answer, err := send(ctx, c, c.rpc.GetRemainingQuota, r.quota())
	if err != nil {
		return Verdict{}, err
	}
	return verdictOf(answer), nil
}

// Reset makes a key of the limit with a name fresh. It is idempotent.
func (c *Client) Reset(ctx context.Context, limit, key string) error {
	_, err := send(ctx, c, c.rpc.Reset, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: limit, Key: key}}})
	return err
}

// ResetLimit makes the keys of all rules fresh that apply to a request, and returns the
// rules. It is idempotent. With an error some may have been reset.
func (c *Client) ResetLimit(ctx context.Context, r Request) (rules []string, err error) {
	answer, err := send(ctx, c, c.rpc.ResetLimit, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: r.subject()}})
	return answer.GetRuleIds(), err
}
