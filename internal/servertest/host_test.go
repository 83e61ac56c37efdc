package servertest

import (
	"slices"
	"testing"
)

func TestAsTestFailsAsATestWould(t *testing.T) {
	var order []string
	step := func(name string) func() { return func() { order = append(order, name) } }
	err := AsTest(func(tb testing.TB) {
		tb.Cleanup(step("first"))
		tb.Cleanup(func() { tb.Errorf("in a cleanup") })
		tb.Cleanup(step("last"))
		tb.Fatalf("number %d", 7)
		t.Error("goes on after Fatalf")
	})
	if err == nil || err.Error() != "number 7\nin a cleanup" || !slices.Equal(order, []string{"last", "first"}) {
		t.Errorf("%v, cleaned up in the order %v", err, order)
	}
	if err := AsTest(func(tb testing.TB) { tb.Cleanup(step("none")) }); err != nil {
		t.Error(err)
	}
	if err := AsTest(func(tb testing.TB) { tb.Skipf("no server") }); err == nil {
		t.Error("a skip is no error: a command that does nothing must not pass")
	}
}
