package gubernator

import (
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weirgo/weir/service/gubernator/pb"
)

// MaxMessage is the most bytes of a request, over gRPC where the server says so, and as JSON:
// 1,000 items have room for names and keys of 500 bytes each.
const MaxMessage = 1 << 20

// Handler returns the handler of the JSON gateway: POST /v1/GetRateLimits, GET
// /v1/HealthCheck and GET /v1/LiveCheck. Names are as in the .proto file, numbers of 64
// bits are texts, enums are names, and every field is there. Unknown fields are passed
// over. An error is {code, message, details}, with the code of gRPC.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/GetRateLimits", func(w http.ResponseWriter, r *http.Request) {
		var req pb.GetRateLimitsReq
		if err := read(w, r, &req); err != nil {
			answer(w, nil, err)
			return
		}
		resp, err := s.GetRateLimits(r.Context(), &req)
		answer(w, resp, err)
	})
	mux.HandleFunc("GET /v1/HealthCheck", func(w http.ResponseWriter, r *http.Request) {
		resp, err := s.HealthCheck(r.Context(), nil)
		answer(w, resp, err)
	})
	mux.HandleFunc("GET /v1/LiveCheck", func(w http.ResponseWriter, r *http.Request) {
		resp, err := s.LiveCheck(r.Context(), nil)
		answer(w, resp, err)
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request, into proto.Message) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return status.Errorf(codes.ResourceExhausted, "the body has more than %d bytes", MaxMessage)
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, "the body cannot be read")
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, into); err != nil {
		return status.Error(codes.InvalidArgument, "the body is no valid JSON of the request")
	}
	return nil
}

// answer writes a message, or an error.
func answer(w http.ResponseWriter, m proto.Message, err error) {
	code := http.StatusOK
	if err != nil {
		m, code = status.Convert(err).Proto(), httpStatus(status.Code(err))
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that is gone wants no answer
}

func httpStatus(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.ResourceExhausted:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}
