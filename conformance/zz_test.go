package conformance_test
import ("testing";"fmt")
func TestZZ(t *testing.T) {
	for _, m := range mutants() {
		if m.name == "updates are lost" { fmt.Println(checkNamed(t,"linear/one-slot/gcra").Verify(m.open)) }
		if m.name == "slots are written one after the other" { fmt.Println(checkNamed(t,"linear/several-slots").Verify(m.open)) }
		if m.name == "looks come from a copy that lags" { fmt.Println(checkNamed(t,"linear/one-slot/gcra").Verify(m.open)) }
		if m.name == "a context that ends stops between two slots" { fmt.Println(checkNamed(t,"context/ending").Verify(m.open)) }
		if m.name == "checks and then acts" { fmt.Println(checkNamed(t,"concurrent/ten-thousand").Verify(m.open)) }
	}
}
