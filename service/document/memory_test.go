package document

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/weirgo/weir/store"
)

// TestReadingKeepsNothing: names come from whoever asks the service, one for each user.
func TestReadingKeepsNothing(t *testing.T) {
	ctx, m := context.Background(), new(Memory)
	for i := range 1000 {
		d, err := m.Document("user-" + strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		if text, revision, err := d.Read(ctx); text != nil || revision != 0 || err != nil {
			t.Fatalf("%q %d %v", text, revision, err)
		}
		if _, err := d.Write(ctx, []byte("x"), 1); !errors.Is(err, store.ErrContention) {
			t.Fatal(err)
		}
	}
	if n := len(m.texts); n != 0 {
		t.Errorf("%d texts are kept of documents that nobody has written", n)
	}
}
