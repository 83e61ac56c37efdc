package gubernator

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/rethrow"
	"github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Service. nil means all defaults.
type Options struct {
	// Zone is where days, months and years of DURATION_IS_GREGORIAN begin: a name of the IANA
	// database of time zones, as in algorithm.Calendar. "" is UTC.
	Zone string
	// Clock says in which calendar interval an item of DURATION_IS_GREGORIAN probably is.
	// Where the store's clock is in another one, that counts, and costs a call more. nil is
	// the clock of the machine.
	Clock store.Clock
	// Healthy returns why the service is not healthy, for HealthCheck. It is called
	// concurrently. nil is always healthy.
	Healthy func() error
	// Observer sees the answer of each valid item; nil is none. Observation.Limit is
	// "gubernator." and the first 256 bytes of the name. An item with 0 hits is a peek, one with
	// hits below 0 a refund, and a RESET_REMAINING of a token bucket a reset, whose hits do not
	// count. An item with the limit 0 has no Algorithm. Observer is called concurrently.
	Observer weir.Observer
}

// Service answers pb.gubernator.V1. It is safe for concurrent use. Time is the store's
// clock.
//
// An item costs one call to the store, one more with RESET_REMAINING in a leaky bucket, and
// with DRAIN_OVER_LIMIT one more where it is over its limit. Items of one name and key are
// decided in their order; the others concurrently, where the store waits for a network.
type Service struct {
	pb.UnimplementedV1Server
	store    store.Store
	opts     Options
	calendar calendar
	seed     maphash.Seed
}

var _ pb.V1Server = (*Service)(nil)

// MaxItems is the most items of a request.
const MaxItems = 1000

// workers is how many items of a request are decided concurrently.
const workers = 16

// New returns a Service on a store, which stays the caller's. opts may be nil.
func New(s store.Store, opts *Options) (*Service, error) {
	if s == nil {
		return nil, errors.New("gubernator: the store is nil")
	}
	service := &Service{store: s, seed: maphash.MakeSeed()}
	if opts != nil {
		service.opts = *opts
	}
	var err error
	if service.calendar, err = newCalendar(service.opts.Zone); err != nil {
		return nil, fmt.Errorf("gubernator: %w", err)
	}
	if service.opts.Clock == nil {
		service.opts.Clock = machine{}
	}
	return service, nil
}

// machine is the clock of the machine.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

// Register registers s as pb.gubernator.V1.
func (s *Service) Register(r grpc.ServiceRegistrar) { pb.RegisterV1Server(r, s) }

// GetRateLimits implements pb.gubernator.V1. An item over its limit is an answer; one that
// is not valid, or that the store did not decide, has an Error. More than MaxItems items
// are an error with the code OutOfRange.
func (s *Service) GetRateLimits(ctx context.Context, req *pb.GetRateLimitsReq) (*pb.GetRateLimitsResp, error) {
	items := req.GetRequests()
	if len(items) > MaxItems {
		return nil, status.Errorf(codes.OutOfRange, "Requests.RateLimits list too large; max size is '%d'", MaxItems)
	}
	answers := make([]*pb.RateLimitResp, len(items))
	s.each(items, func(i int) {
		answer, err := s.decide(ctx, items[i])
		if err != nil {
			answer = &pb.RateLimitResp{Error: err.Error()}
		}
		answers[i] = answer
	})
	return &pb.GetRateLimitsResp{Responses: answers}, nil
}

// each calls f for every item, in order for those of one name and key.
func (s *Service) each(items []*pb.RateLimitReq, f func(i int)) {
	if len(items) < 2 || store.FeaturesOf(s.store).NoIO {
		for i := range items {
			f(i)
		}
		return
	}
	var shares [workers][]int
	for i, item := range items {
		var h maphash.Hash
		h.SetSeed(s.seed)
		_, _ = h.WriteString(item.GetName() + "\x00" + item.GetUniqueKey())
		n := h.Sum64() % workers
		shares[n] = append(shares[n], i)
	}
	var group rethrow.Group
	for _, share := range shares {
		if len(share) > 0 {
			group.Go(func() {
				for _, i := range share {
					f(i)
				}
			})
		}
	}
	group.Wait()
}

// HealthCheck implements pb.gubernator.V1. There is one peer: the service itself, whatever
// the number of nodes, since each decides over the same store.
func (s *Service) HealthCheck(context.Context, *pb.HealthCheckReq) (*pb.HealthCheckResp, error) {
	if s.opts.Healthy != nil {
		if err := s.opts.Healthy(); err != nil {
			return &pb.HealthCheckResp{Status: "unhealthy", Message: err.Error(), PeerCount: 1}, nil
		}
	}
	return &pb.HealthCheckResp{Status: "healthy", PeerCount: 1}, nil
}

// LiveCheck implements pb.gubernator.V1.
func (s *Service) LiveCheck(context.Context, *pb.LiveCheckReq) (*pb.LiveCheckResp, error) {
	return &pb.LiveCheckResp{}, nil
}
