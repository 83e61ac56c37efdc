package main

import (
	"io"
	"strings"
	"testing"
)

// Two packages at the same time, as go test -json writes them, and a build that
// failed.
const mixed = `{"Action":"start","Package":"p/good"}
{"Action":"start","Package":"p/bad"}
{"Action":"run","Package":"p/good","Test":"TestA"}
{"Action":"output","Package":"p/good","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p/good","Test":"TestA","Output":"    a_test.go:1: quiet\n"}
{"Action":"output","Package":"p/bad","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p/bad","Test":"TestB","Output":"    b_test.go:2: broken\n"}
{"Action":"output","Package":"p/bad","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}
{"Action":"fail","Package":"p/bad","Test":"TestB"}
{"Action":"output","Package":"p/good","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p/good","Test":"TestA"}
{"Action":"output","Package":"p/bad","Test":"TestC","Output":"    c_test.go:3: quiet\n"}
{"Action":"pass","Package":"p/bad","Test":"TestC"}
{"Action":"output","Package":"p/bad","Test":"TestD","Output":"panic: it has not ended\n"}
{"Action":"output","Package":"p/good","Output":"PASS\n"}
{"Action":"output","Package":"p/good","Output":"ok  \tp/good\t0.01s\n"}
{"Action":"pass","Package":"p/good","Elapsed":0.01}
{"Action":"output","Package":"p/bad","Output":"FAIL\tp/bad\t0.02s\n"}
{"Action":"fail","Package":"p/bad","Elapsed":0.02}
{"ImportPath":"p/broken [p/broken.test]","Action":"build-output","Output":"x_test.go:3: undefined: y\n"}
{"ImportPath":"p/broken [p/broken.test]","Action":"build-fail"}
go: warning: no JSON
{"Action":"output","Package":"p/none","Output":"?   \tp/none\t[no test files]\n"}
{"Action":"skip","Package":"p/none","Elapsed":0}
`

func TestReportPrintsWhatGoTestWould(t *testing.T) {
	var out strings.Builder
	skips, err := report(strings.NewReader(mixed), &out)
	if err != nil || len(skips.servers)+len(skips.others) != 0 {
		t.Errorf("skips %q, error %v", skips, err)
	}
	const want = `ok  	p/good	0.01s
    b_test.go:2: broken
--- FAIL: TestB (0.00s)
panic: it has not ended
FAIL	p/bad	0.02s
x_test.go:3: undefined: y
go: warning: no JSON
?   	p/none	[no test files]
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

// TestReportTellsSkipsForWantOfAServerFromThoseOfOtherPrograms: servers must be there; what npm and
// apt do not have everywhere need not.
func TestReportTellsSkipsForWantOfAServerFromThoseOfOtherPrograms(t *testing.T) {
	const input = `{"Action":"output","Package":"p","Test":"TestA/redis","Output":"    a_test.go:1: servertest: no redis-server here: scripts/setup servers installs it\n"}
{"Action":"skip","Package":"p","Test":"TestA/redis"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:2: only on Plan 9\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    a_test.go:3: passes and mentions scripts/setup servers\n"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestD/python","Output":"    a_test.go:4: no Python with grpcio here: scripts/setup installs it where apt has it\n"}
{"Action":"skip","Package":"p","Test":"TestD/python"}
{"Action":"pass","Package":"p"}
`
	skips, err := report(strings.NewReader(input), io.Discard)
	if err != nil || len(skips.servers) != 1 || !strings.HasPrefix(skips.servers[0], "p TestA/redis: ") {
		t.Errorf("for want of a server: %q, error %v", skips.servers, err)
	}
	if len(skips.others) != 1 || !strings.HasPrefix(skips.others[0], "p TestD/python: ") {
		t.Errorf("for want of another program: %q", skips.others)
	}
}

func TestReportOfACutRunIsAnError(t *testing.T) {
	if _, err := report(strings.NewReader(`{"Action":"start","Package":"p"}`+"\n"), io.Discard); err == nil {
		t.Error("a run that was cut off passes")
	}
}
