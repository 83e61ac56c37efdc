package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestPackagedConfigurationIsValid: weir serve --check, which the unit runs first, accepts what
// the package installs, and the policy denies nobody.
func TestPackagedConfigurationIsValid(t *testing.T) {
	const folder = "../../deploy/debian/"
	if got := start("serve", "--check", "--config", folder+"weir.yaml"); got.status != exitOK || !strings.Contains(got.out, "127.0.0.1:8080") {
		t.Errorf("%+v", got)
	}
	if policy := read(t, folder+"policy.yaml"); strings.Count(policy, "\n  - id:") != strings.Count(policy, "mode: shadow") {
		t.Error("the policy that is installed denies somebody")
	}
	unit := read(t, folder+"weir.service")
	for _, line := range regexp.MustCompile(`(?m)^Exec\w+=/usr/bin/weir (.*)$`).FindAllStringSubmatch(unit, -1) {
		args := strings.Fields(strings.ReplaceAll(line[1], "/etc/weir/", folder))
		if got := start(append(args, "--help")...); got.status != exitOK {
			t.Errorf("%s: %+v", line[1], got)
		}
	}
	for _, want := range []string{"DynamicUser=yes", "CapabilityBoundingSet=\n", "NoNewPrivileges=yes", "ProtectSystem=strict", "TimeoutStopSec=45"} {
		if !strings.Contains(unit, want) {
			t.Errorf("the unit does not say %s", want)
		}
	}
}

// TestReleaseScriptIsRead: that it builds is for make release, which takes minutes.
func TestReleaseScriptIsRead(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	if out, err := exec.Command(bash, "-n", "../../scripts/release").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
