package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weirgo/weir"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/ui"
)

func Example() {
	recorder := weir.Must(ui.NewRecorder(nil))
	defer recorder.Close()
	store := weir.Must(memorystore.New(nil))
	defer store.Close()
	recorder.AddMemory("local", store)
	limit := weir.Must(weir.ParseLimit("api", "gcra:2/1h"))
	limiter := weir.Must(weir.New(store, limit, &weir.Options{Observer: recorder}))

	mux := http.NewServeMux()
	mux.Handle("/limits/", weir.Must(ui.New(recorder, &ui.Options{Title: "Shop"})))

	for range 3 {
		weir.Must(limiter.Allow(context.Background(), "user:1"))
	}
	page := httptest.NewRecorder()
	mux.ServeHTTP(page, httptest.NewRequest("GET", "/limits/", nil))
	_, after, _ := strings.Cut(page.Body.String(), `data-total="denied">`)
	since, _, _ := strings.Cut(after, "<")
	fmt.Println("denied since the start:", since)
	// Output:
	// denied since the start: 1
}
