package random_test

import (
	"fmt"

	"github.com/weirgo/weir/sim/internal/random"
)

// Each purpose has its own stream: what one draws does not move the other.
func Example() {
	traffic := random.New(42).Under("traffic")
	gaps, keys := traffic.Stream("gaps"), traffic.Stream("keys")
	fmt.Println(gaps.Exponential(1000), keys.N(10))
	fmt.Println(gaps.Exponential(1000), keys.N(10))

	again := random.New(42).Stream("traffic/gaps")
	fmt.Println(again.Exponential(1000), again.Exponential(1000))
	// Output:
	// 807 3
	// 389 1
	// 807 389
}
