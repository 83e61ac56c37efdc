package connectlimit_test

import (
	"net/http"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/weirgo/weir/httplimit"
	"google.golang.org/protobuf/proto"
)

func TestOutcomeOfACallIsSettled(t *testing.T) {
	var mu sync.Mutex
	var seen []httplimit.Outcome
	server := serve(t, newMiddleware(t, newStore(t), httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, *o)
		return 0
	}}))
	if _, err := call(server, 7, nil); err != nil { // of 1: the unit is given back
		t.Error(err)
	}
	if _, err := call(server, -7, nil); connect.CodeOf(err) != connect.CodeNotFound {
		t.Error(err)
	}
	stream, err := connect.NewClient[number, number](server.Client(), server.URL+streaming, connect.WithGRPC()).CallServerStream(t.Context(), connect.NewRequest(&number{Value: 7}))
	if err != nil {
		t.Fatal(err)
	}
	for stream.Receive() {
	}
	if err := stream.Close(); err != nil || stream.Err() != nil {
		t.Error(err, stream.Err())
	}
	// Each was settled before its answer ended.
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 3 || seen[0].Status != 200 || seen[1].Status != 404 || seen[2].Status != 200 {
		t.Fatalf("%+v", seen)
	}
	if reply, is := seen[0].Reply.(proto.Message); !is || reply.(*number).Value != 7 || connect.CodeOf(seen[1].Err) != connect.CodeNotFound {
		t.Errorf("%+v", seen)
	}
}
