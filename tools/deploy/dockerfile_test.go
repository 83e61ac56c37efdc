package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDockerfileMakesASmallImage reads the instructions of the last stage: what is in the
// image, and who runs it.
func TestDockerfileMakesASmallImage(t *testing.T) {
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var stages [][]string // instructions
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasSuffix(line, `\`) {
			t.Errorf("the test reads no continued lines: %s", line)
		}
		if strings.HasPrefix(line, "FROM ") {
			stages = append(stages, nil)
		}
		if len(stages) == 0 {
			t.Fatalf("%s stands before FROM", line)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], line)
	}
	if len(stages) != 2 {
		t.Fatalf("%d stages, want 2", len(stages))
	}
	build, image := strings.Join(stages[0], "\n"), stages[1]
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go ([0-9]+\.[0-9]+)`).FindStringSubmatch(string(mod))[1]
	if !strings.HasPrefix(build, "FROM golang:"+version+"-") {
		t.Errorf("%s: want Go %s, as go.mod has it", stages[0][0], version)
	}
	if !strings.Contains(build, "CGO_ENABLED=0") || !strings.Contains(build, "GOWORK=off") || !strings.Contains(build, "-trimpath") {
		t.Errorf("the binary is not built statically, by its own go.mod and without paths:\n%s", build)
	}
	for _, line := range image {
		switch instruction, rest, _ := strings.Cut(line, " "); instruction {
		case "FROM":
			if rest != "scratch" {
				t.Errorf("%s: want scratch", line)
			}
		case "COPY":
			if !strings.HasPrefix(rest, "--from=build ") {
				t.Errorf("%s: the image has only what was built", line)
			}
		case "USER":
			if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(rest) {
				t.Errorf("%s: want a user by number that is not root", line)
			}
		case "EXPOSE", "STOPSIGNAL", "CMD":
		case "ENTRYPOINT":
			if !strings.HasPrefix(rest, "[") {
				t.Errorf("%s: a shell would swallow SIGTERM, and there is none", line)
			}
		default:
			t.Errorf("%s: not expected in the image", line)
		}
	}
	if n := strings.Count(strings.Join(image, "\n"), "\nUSER "); n != 1 {
		t.Errorf("%d users, want 1", n)
	}
}
