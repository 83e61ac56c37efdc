package conformance

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/scripts"
)

// ScriptChecks are the checks of TestScript, so that a test can let them fail,
// without making the failures shorter for long.
func ScriptChecks(cfg *Config, a algorithm.Algorithm, earlier ...algorithm.Algorithm) []Check {
	c := cfg.internal()
	c.Shrink = 50 * time.Millisecond
	return exported(scripts.Checks(a, earlier...), c)
}
