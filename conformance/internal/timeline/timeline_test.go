package timeline

import (
	"strings"
	"testing"
)

func TestTimelineThatCannotBeReadNamesFileAndLine(t *testing.T) {
	const head = "rule r\nproperty L1\nlimit g gcra:5/1s\n"
	for _, c := range []struct{ line, want string }{
		{"0s take a/h 1 allow 4 0 0", "with a limit that was named before"},
		{"0s take a 1 allow 4 0 0", "is not KEY/LIMIT"},
		{"0s take a/g one allow 4 0 0", "invalid syntax"},
		{"0s take a/g 1 maybe 4 0 0", "neither allow nor deny"},
		{"0s take a/g 1 allow few 0 0", "invalid syntax"},
		{"0s take a/g 1 allow 4 0", "want: KEY/LIMIT COST allow|deny"},
		{"0s take a/g 1 allow 4 0 0 0 0", "want: KEY/LIMIT COST allow|deny"},
		{"0s take a/g 1 allow 4 0 soon", "invalid duration"},
		{"0s take a/g 1 allow 4 0 1ns", "not whole microseconds"},
		{"0s take a/g 1<=later allow 4 0 0", "invalid duration"},
		{"1.5ns take a/g 1 allow 4 0 0", "not whole microseconds"},
		{"0s refund a/g 1 allow 4 0 0", "want: COST@TIME"},
		{"0s refund a/g 1@soon allow 4 0 0", "invalid duration"},
		{"0s grab a/g 1 allow 4 0 0", "no such verb"},
		{"0s repeat a/g 1 times 3", "want: KEY/LIMIT COST times N admits N"},
		{"0s repeat a/g 1 times 3 admits some", "invalid syntax"},
		{"0s reset a/g 1", "want: KEY/LIMIT"},
		{"+ a/g 1 allow 4 0 0", "no call to continue"},
		{"0s reset a/g\n+ a/g", "only take, peek and repeat have several ops"},
		{"0s repeat a/g 1 times 3 admits 3\n+ a/g 1 times 3 admits 3", "want: KEY/LIMIT COST"},
		{"0s take", "want: TIME take|charge|refund|peek|reset|repeat"},
		{"limit h", "want: limit NAME SPEC"},
		{"limit h gcra:0/1s", "limit 0 is not allowed"},
	} {
		_, err := parse("f.txt", head+c.line)
		at := "f.txt:4: "
		if strings.Contains(c.line, "\n") {
			at = "f.txt:5: "
		}
		if err == nil || !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got the error %v, want %s… %s", c.line, err, at, c.want)
		}
	}
	for _, text := range []string{"", head, "rule r\nlimit g gcra:5/1s\n0s reset a/g", "property L1\nlimit g gcra:5/1s\n0s reset a/g"} {
		if _, err := parse("f.txt", text); err == nil {
			t.Errorf("%q is read as a timeline", text)
		}
	}
}
