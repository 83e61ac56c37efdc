package envoy

import (
	"math"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// isOver reports whether a request is over its limits: whether one that is not in quota
// mode is, or all that are. Options.Shadow does not count here.
func (s *Service) isOver(asks []ask) bool {
	quotas, over := 0, 0
	for i := range asks {
		a := &asks[i]
		if a.rule != nil && a.rule.unlimited {
			continue
		}
		quota := s.opts.Quota || a.rule != nil && a.rule.quota
		exceeded := a.over() && !a.rule.shadow
		switch {
		case exceeded && !quota:
			return true
		case exceeded:
			over++
		}
		if quota {
			quotas++
		}
	}
	return quotas > 0 && over == quotas
}

// answer turns what was decided into a response.
func (s *Service) answer(req *pb.RateLimitRequest, asks []ask) *pb.RateLimitResponse {
	r := &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK, Statuses: make([]*pb.RateLimitResponse_DescriptorStatus, len(asks))}
	for i := range asks {
		r.Statuses[i] = statusOf(&asks[i])
	}
	if s.isOver(asks) {
		if s.opts.Shadow {
			s.shadowed.Add(1)
		} else {
			r.OverallCode = pb.RateLimitResponse_OVER_LIMIT
		}
	}
	if s.opts.Headers != nil {
		r.ResponseHeadersToAdd = s.headers(asks, r.Statuses)
	}
	if s.opts.DynamicMetadata {
		r.DynamicMetadata = metadata(req, asks, r.Statuses)
	}
	return r
}

func statusOf(a *ask) *pb.RateLimitResponse_DescriptorStatus {
	d := &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK}
	if a.rule == nil || a.err != nil {
		return d
	}
	if a.rule.unlimited {
		d.LimitRemaining = math.MaxUint32
		return d
	}
	d.CurrentLimit = a.rule.limit
	d.DurationUntilReset = &durationpb.Duration{Seconds: a.rule.untilReset(a.at, a.outcome)}
	d.LimitRemaining = a.rule.remaining(a.outcome)
	if a.over() && !a.rule.shadow {
		d.Code = pb.RateLimitResponse_OVER_LIMIT
	}
	return d
}

// headers shows the status with the least that remains; the last one over a limit that is
// not in quota mode goes before it.
func (s *Service) headers(asks []ask, statuses []*pb.RateLimitResponse_DescriptorStatus) []*core.HeaderValue {
	var shown *pb.RateLimitResponse_DescriptorStatus
	least := uint32(math.MaxUint32)
	for i, d := range statuses {
		if d.GetCurrentLimit() == nil {
			continue
		}
		if d.GetLimitRemaining() < least {
			shown, least = d, d.GetLimitRemaining()
		}
		if d.GetCode() == pb.RateLimitResponse_OVER_LIMIT && !s.opts.Quota && !asks[i].rule.quota {
			shown, least = d, 0
		}
	}
	if shown == nil {
		return nil
	}
	h := s.opts.Headers
	return []*core.HeaderValue{
		{Key: h.Limit, Value: strconv.FormatUint(uint64(shown.GetCurrentLimit().GetRequestsPerUnit()), 10)},
		{Key: h.Remaining, Value: strconv.FormatUint(uint64(shown.GetLimitRemaining()), 10)},
		{Key: h.Reset, Value: strconv.FormatInt(shown.GetDurationUntilReset().GetSeconds(), 10)},
	}
}

// metadata shows the request, and the metadata of the limits that were not over.
func metadata(req *pb.RateLimitRequest, asks []ask, statuses []*pb.RateLimitResponse_DescriptorStatus) *structpb.Struct {
	descriptors := &structpb.ListValue{}
	merged := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for i, d := range req.GetDescriptors() {
		entries := &structpb.ListValue{}
		for _, e := range d.GetEntries() {
			entries.Values = append(entries.Values, structpb.NewStringValue(e.GetKey()+"="+e.GetValue()))
		}
		fields := map[string]*structpb.Value{"entries": structpb.NewListValue(entries)}
		if d.GetLimit() != nil {
			fields["limit"] = structpb.NewStringValue(d.GetLimit().String())
		}
		if d.GetHitsAddend() != nil {
			fields["hitsAddend"] = structpb.NewNumberValue(float64(d.GetHitsAddend().GetValue()))
		}
		descriptors.Values = append(descriptors.Values, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
		if asks[i].counts() && asks[i].err == nil && statuses[i].GetCode() == pb.RateLimitResponse_OK {
			merge(merged, asks[i].rule.metadata)
		}
	}
	fields := map[string]*structpb.Value{
		"domain":      structpb.NewStringValue(req.GetDomain()),
		"descriptors": structpb.NewListValue(descriptors),
	}
	if req.GetHitsAddend() != 0 {
		fields["hitsAddend"] = structpb.NewNumberValue(float64(req.GetHitsAddend()))
	}
	if len(merged.Fields) > 0 {
		fields["metadata"] = structpb.NewStructValue(merged)
	}
	return &structpb.Struct{Fields: fields}
}

// merge adds to a struct what it does not have. What it has stays, but for structs, which
// are merged.
func merge(into, from *structpb.Struct) {
	for name, value := range from.GetFields() {
		have, found := into.Fields[name]
		if !found {
			into.Fields[name] = proto.Clone(value).(*structpb.Value) // into may be written to later
			continue
		}
		if inner, more := have.GetStructValue(), value.GetStructValue(); inner != nil && more != nil {
			if inner.Fields == nil {
				inner.Fields = map[string]*structpb.Value{}
			}
			merge(inner, more)
		}
	}
}
