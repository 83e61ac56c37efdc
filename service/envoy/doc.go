// Package envoy answers the rate limit protocol of Envoy, as the service
// github.com/envoyproxy/ratelimit does, over any store of weir.
//
// It takes the YAML files of that service unchanged, follows the same rules when it
// looks for the limit of a descriptor, and gives the same answers and the same error
// texts, so that an Envoy keeps its configuration.
//
//	config, err := envoy.Parse(files, nil)
//	if err != nil {
//		return err
//	}
//	service, err := envoy.New(states, config, nil)
//	if err != nil {
//		return err
//	}
//	service.Register(grpcServer)
//
// What is added: a charge that is all or nothing (Options.Charge), and limits of every
// algorithm of weir ("weir: {limit: ...}" below rate_limit). What differs is listed in
// docs/guides/envoy.md.
package envoy
