package main

import (
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
)

// replaysAndVerifies wants that the command works with a URL as it does in memory.
func replaysAndVerifies(t *testing.T, url string) {
	t.Helper()
	got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--store", url, "-")
	if want := strings.ReplaceAll(twoKeysReport, storeurl.Memory, url); got != (result{exitOK, want, ""}) {
		t.Errorf("%s: status %d, %s%s", url, got.status, got.err, difference(got.out, want))
	}
	got = verify(url, "--checks", "1", "--run", "^(take/|stored/is|capability/one-key)")
	if got.status != exitOK || strings.Count(got.out, "passed ") < 3 {
		t.Errorf("%s: status %d, %s%s", url, got.status, got.out, got.err)
	}
}

func TestCommandWorksBehindSentinels(t *testing.T) {
	leftToTheRaceRun(t)
	for _, kind := range servertest.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			primary := servertest.Start(t, kind, nil)
			servertest.StartReplica(t, primary, nil)
			watching := servertest.StartSentinels(t, 3, primary, 1, time.Minute)
			replaysAndVerifies(t, kind.String()+"-sentinel://"+strings.Join(watching.Addrs(), ",")+"/"+servertest.PrimaryName)
			wantKeys(t, primary)
		})
	}
}

func TestCommandWorksOnAClusterAndSaysWhatCannotBeTaken(t *testing.T) {
	leftToTheRaceRun(t)
	servertest.EachCluster(t, 3, nil, func(t *testing.T, c *servertest.Cluster) {
		url := c.Nodes()[0].Kind().String() + "-cluster://" + strings.Join(c.Addrs(), ",")
		replaysAndVerifies(t, url)
		for _, node := range c.Nodes() {
			wantKeys(t, node)
		}
	})
}
