package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
	"github.com/weirgo/weir/service/gubernator"
	gubernatorpb "github.com/weirgo/weir/service/gubernator/pb"
	"github.com/weirgo/weir/service/rpc"
)

const (
	// maxMessage bounds a message of gRPC; REST bounds its bodies the same way.
	maxMessage = 64 << 10
	// maxHeader bounds the headers of a request, and the metadata.
	maxHeader = 32 << 10
	// maxStreams bounds the calls in flight of one connection; a client holds back others.
	maxStreams = 1000
	// streamWorkers are the goroutines that make calls one after the other: a new one each
	// would grow its stack each time. More calls at a time have goroutines of their own.
	streamWorkers = 256
	// streamWindow and connectionWindow are how many bytes a client may send in advance. Said
	// once: otherwise gRPC sends a ping with most requests to measure what they should be.
	streamWindow     = 2 * maxMessage
	connectionWindow = 1 << 20
)

// ownMethods are what the methods of weir.v1.RateLimiter and of health do.
var ownMethods = auth.Methods{
	weirv1.RateLimiter_CheckRateLimit_FullMethodName:    auth.Check,
	weirv1.RateLimiter_GetRemainingQuota_FullMethodName: auth.Look,
	weirv1.RateLimiter_ResetLimit_FullMethodName:        auth.Write,
	weirv1.RateLimiter_Allow_FullMethodName:             auth.Check,
	weirv1.RateLimiter_AllowN_FullMethodName:            auth.Check,
	weirv1.RateLimiter_Reset_FullMethodName:             auth.Write,
	weirv1.RateLimiter_Reserve_FullMethodName:           auth.Check,
	weirv1.RateLimiter_Settle_FullMethodName:            auth.Check,
	weirv1.RateLimiter_Cancel_FullMethodName:            auth.Check,
	healthpb.Health_Check_FullMethodName:                auth.Open,
	healthpb.Health_List_FullMethodName:                 auth.Open,
	healthpb.Health_Watch_FullMethodName:                auth.Open,
}

// listeners are the sockets.
type listeners struct{ grpc, http, admin net.Listener }

func (l *listeners) open(at config.Listen) error {
	for _, each := range []struct {
		name, address string
		to            *net.Listener
	}{{"grpc", at.GRPC, &l.grpc}, {"http", at.HTTP, &l.http}, {"admin", at.Admin, &l.admin}} {
		opened, err := net.Listen("tcp", each.address)
		if err != nil {
			return fmt.Errorf("service: listen.%s: %w", each.name, err)
		}
		*each.to = opened
	}
	return nil
}

func (l *listeners) close() {
	for _, each := range []net.Listener{l.grpc, l.http, l.admin} {
		if each != nil {
			each.Close() // a server may have closed it
		}
	}
}

// newServers makes the servers of gRPC and HTTP.
func (s *Service) newServers(c *config.Config) error {
	secure, err := s.secured(c.TLS)
	if err != nil {
		return err
	}
	methods := maps.Clone(ownMethods)
	public, admin := http.NewServeMux(), http.NewServeMux()
	for _, mux := range []*http.ServeMux{public, admin} {
		mux.HandleFunc("GET /healthz", s.healthz)
		mux.HandleFunc("GET /readyz", s.readyz)
	}
	admin.Handle("GET /metrics", s.guard.HTTP(auth.Read, "GET /metrics", s.metrics.handler()))
	var direct [2]http.Handler // of REST: on the listeners http and admin
	for _, f := range s.fronts {
		maps.Copy(methods, f.methods)
		for pattern, handler := range f.routes {
			if public.Handle(pattern, handler); pattern == restPrefix {
				direct[0] = handler
			}
		}
		for pattern, handler := range f.admin {
			if admin.Handle(pattern, handler); pattern == restPrefix {
				direct[1] = handler
			}
		}
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.ChainUnaryInterceptor(s.unary(methods)),
		grpc.ChainStreamInterceptor(s.guard.Stream(methods), s.watches.stream),
	}
	if s.config.Load().Gubernator != nil { // whose requests are larger: a server has one bound
		options = append(options, grpc.MaxRecvMsgSize(gubernator.MaxMessage), grpc.ChainUnaryInterceptor(boundedUnary))
	}
	if s.tracing != nil {
		options = append(options, s.tracing.grpc(methods))
	}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	s.grpc = grpc.NewServer(options...)
	own, err := rpc.New(s.find, &rpc.Options{Skew: s.metrics.ObserveClockSkew, Logger: s.log})
	if err != nil {
		return err
	}
	own.Register(s.grpc)
	s.grpcHealth = health.NewServer()
	healthpb.RegisterHealthServer(s.grpc, s.grpcHealth)
	for _, f := range s.fronts {
		if f.register != nil {
			f.register(s.grpc)
		}
	}
	s.http, s.admin = s.httpServer(s.traced(past(public, direct[0]))), s.httpServer(s.traced(past(admin, direct[1])))
	s.admin.RegisterOnShutdown(func() { // ends the streams of pages, for which it would wait
		for _, t := range s.tenants {
			_ = t.recorder.Close() // has no error
		}
	})
	// A copy each: a server adds to its own. Clone of nil is nil.
	s.http.TLSConfig, s.admin.TLSConfig = secure.Clone(), secure.Clone()
	return nil
}

// past hands what is below restPrefix to REST without the mux: a mux answers a path that is
// not clean with a redirect, and "..", or "a//b", may be the id of a user in a segment.
func past(mux *http.ServeMux, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest != nil && strings.HasPrefix(r.URL.EscapedPath(), restPrefix) {
			rest.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *Service) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// secured is the TLS of all listeners; nil without. Each connection takes the files that were
// read last, so that a Reload takes over a renewed certificate.
func (s *Service) secured(t *config.TLS) (*tls.Config, error) {
	now, err := serverTLS(t)
	if now == nil {
		return nil, err
	}
	s.tls.Store(now)
	c := now.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.tls.Load(), nil }
	return c, nil
}

// serverTLS reads the files of TLS; nil without.
func serverTLS(t *config.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("service: tls: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if t.ClientCAFile != "" {
		text, err := os.ReadFile(t.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("service: tls.client_ca_file: %w", err)
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !c.ClientCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("service: tls.client_ca_file: no certificate is in it")
		}
	}
	return c, nil
}

// boundedUnary refuses messages above maxMessage, but for those of gubernator.
func boundedUnary(ctx context.Context, message any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, is := message.(proto.Message); is && info.FullMethod != gubernatorpb.V1_GetRateLimits_FullMethodName && proto.Size(m) > maxMessage {
		return nil, status.Errorf(codes.ResourceExhausted, "the message is larger than %d bytes", maxMessage)
	}
	return next(ctx, message)
}

// unary asks the guard before each call, and writes resets into the audit. It answers INTERNAL
// where a handler panics: one bad call must not end the others. It is one interceptor, since a
// chain makes gRPC allocate a function for each call and each further interceptor.
func (s *Service) unary(methods auth.Methods) grpc.UnaryServerInterceptor {
	guarded := s.guard.Unary(methods)
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (response any, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.log.Error("a handler has panicked", "method", info.FullMethod, "panic", r, "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "internal error")
			}
		}()
		if _, is := message.(*weirv1.ResetRequest); is && s.audit != nil {
			next = s.auditedReset(next)
		}
		return guarded(ctx, message, info, next)
	}
}
