package watch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/policy/watch"
	memorystore "github.com/weirgo/weir/store/memory"
)

// follow returns an Enforcer that follows a file until ctx ends.
func follow(ctx context.Context, decider weir.Decider, name string) (*policy.Enforcer, *watch.Watcher, error) {
	w, err := watch.New(ctx, watch.File(name), nil)
	if err != nil {
		return nil, nil, err // there is no policy to begin with
	}
	enforcer, err := policy.NewEnforcer(decider, w.Policy(), nil)
	if err != nil {
		return nil, nil, err
	}
	go w.Run(ctx, enforcer)
	return enforcer, w, nil
}

func Example() {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("weir-example-%d.yaml", os.Getpid()))
	defer os.Remove(name)
	if err := os.WriteFile(name, []byte("version: 1\nrules: [{id: all, limit: \"gcra:1/1h\"}]\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	states, err := memorystore.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer states.Close()
	decider, err := weir.NewMultiLimiter(states, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	enforcer, w, err := follow(ctx, decider, name)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		verdict, err := enforcer.Decide(ctx, policy.Request{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(verdict.Allowed, verdict.Version == w.Status().Version)
	}
	// Output:
	// true true
	// false true
}
