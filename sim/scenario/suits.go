package scenario

import "fmt"

// suitsLeases refuses what the rule leases could not judge.
func (s *Scenario) suitsLeases() error {
	if s.Server.Clock == "node" {
		return refuse("server.clock", s.Server.Clock, "server where nodes have leases")
	}
	if s.Policy != "" {
		return refuse("policy", "a policy", "absent where nodes have leases")
	}
	if s.PolicyFile != "" {
		return refuse("policy_file", s.PolicyFile, "absent where nodes have leases")
	}
	if s.Nodes.Breaker {
		return refuse("nodes.breaker", true, "absent where nodes have leases")
	}
	if s.Nodes.DenyCache > 0 {
		return refuse("nodes.deny_cache", s.Nodes.DenyCache, "absent where nodes have leases")
	}
	if s.Network.Repeats {
		return refuse("network.repeats", true, "absent where nodes have leases")
	}
	for i, f := range s.Faults {
		if f.Kind == "clock" {
			return refuse(fmt.Sprintf("faults[%d].kind", i), f.Kind, "another fault where nodes have leases")
		}
	}
	return nil
}

// suitsReservations refuses what the rules ids and reservations could not judge.
func (s *Scenario) suitsReservations() error {
	const reserved = " where traffic is reserved"
	switch n := s.Nodes; {
	case s.Governed():
		return refuse("policy", "a policy", "absent"+reserved)
	case s.Server.Clock == "node":
		return refuse("server.clock", s.Server.Clock, "server"+reserved)
	case Complete(n).OnFailure != "closed":
		return refuse("nodes.on_failure", n.OnFailure, "closed"+reserved)
	case n.Lease != nil:
		return refuse("nodes.lease", "a lease", "absent"+reserved)
	case n.Breaker:
		return refuse("nodes.breaker", true, "absent"+reserved)
	case n.DenyCache > 0:
		return refuse("nodes.deny_cache", n.DenyCache, "absent"+reserved)
	}
	for i, f := range s.Faults {
		if f.Kind == "clock" {
			return refuse(fmt.Sprintf("faults[%d].kind", i), f.Kind, "another fault"+reserved)
		}
	}
	return nil
}
