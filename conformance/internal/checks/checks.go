// Package checks holds the checks of a store, by subject.
package checks

import (
	"context"
	"io/fs"
	"slices"

	"github.com/weirgo/weir/conformance/internal/linear"
	"github.com/weirgo/weir/conformance/internal/timeline"
	"github.com/weirgo/weir/conformance/internal/world"
)

// All returns all checks. timelines holds the files of the timelines.
func All(timelines fs.FS) []world.Check {
	// Those come first that only few mistakes break, so that the first failure
	// leads to the cause: testdata/first-failures.golden shows how well. What is
	// stored comes before all else: a state that is gone too early fails most others.
	return slices.Concat(
		storedChecks(),
		corruptChecks(),
		keyChecks(),
		unchangedChecks(),
		resetChecks(),
		expiryChecks(),
		takeChecks(),
		inputChecks(),
		closeChecks(),
		clockChecks(),
		limitChecks(),
		amongManyChecks(),
		capabilityChecks(),
		boundaryChecks(),
		featureChecks(),
		timeline.Checks(timelines),
		concurrentChecks(),
		linear.Checks(),
		modelChecks(),
	)
}

// check makes a Check. needs are what it asks of a store beyond the ordinary.
func check(name, property string, needs world.Needs, rule string, body func(w *world.World)) world.Check {
	return world.Check{Name: name, Property: property, Rule: rule, Needs: needs, Body: body}
}

// background is the context of calls that nothing ends.
var background = context.Background()
