package rpc

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weirgo/weir/api/weirv1"
)

// FuzzMessages calls every method with whatever comes over the wire: it is answered, or
// refused with a code that says what is wrong with it, and an answer is not much larger than
// its request.
func FuzzMessages(f *testing.F) {
	one, many := int64(1), int64(1<<62)
	attributes := map[string]string{}
	for i := range 33 {
		attributes[strings.Repeat("a", i+1)] = "x"
	}
	for i, m := range []proto.Message{
		&weirv1.CheckRequest{Identifier: "u", Dimension: weirv1.Dimension_USER, Endpoint: "/orders", Method: "POST", Cost: &one, Timestamp: 1, Attributes: map[string]string{"tier": "x"}, IdempotencyKey: "k"},
		&weirv1.QuotaRequest{Identifier: "u", Dimension: weirv1.Dimension_IP, Endpoint: "*"},
		&weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "u", Dimension: weirv1.Dimension_USER, Endpoint: "/"}}},
		&weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "api", Key: "k"}}},
		&weirv1.AllowRequest{LimitName: "api", Key: strings.Repeat("k", 1025)}, &weirv1.AllowNRequest{LimitName: "api", Key: "k", N: many},
		&weirv1.ReserveRequest{LimitName: "api", Key: "k", N: 2}, &weirv1.SettleRequest{Reservation: "x", Actual: many}, &weirv1.CancelRequest{Reservation: "x"},
		&weirv1.CheckRequest{Identifier: "u", Dimension: 99, Endpoint: "/", Cost: &many, Timestamp: -many, Attributes: attributes},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data, "")
	}
	b := newBench(f)
	f.Fuzz(func(t *testing.T, method uint8, data []byte, key string) {
		if len(data) > 64<<10 { // a server refuses them
			return
		}
		methods := weirv1.RateLimiter_ServiceDesc.Methods
		called := methods[int(method)%len(methods)]
		ctx := context.Background()
		if key != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("idempotency-key", key))
		}
		decoded := true
		answer, err := called.Handler(b.server, ctx, func(m any) error {
			err := proto.Unmarshal(data, m.(proto.Message))
			decoded = err == nil
			return err
		}, func(ctx context.Context, m any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return next(ctx, m)
		})
		if !decoded {
			return
		}
		switch status.Code(err) {
		case codes.OK:
			text, err := proto.Marshal(answer.(proto.Message))
			if err != nil || len(text) > 4<<10+len(data) {
				t.Errorf("%s: an answer of %d bytes, %v", called.MethodName, len(text), err)
			}
		case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
		default:
			t.Errorf("%s: %v", called.MethodName, err)
		}
	})
}
