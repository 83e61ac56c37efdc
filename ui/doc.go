// Package ui is a page about the limits of a program: traffic now, rules and how they stand,
// who asks and is denied most, stores and breakers, the policy and what changed in it, why a
// request is allowed or denied, and what a rule in shadow would deny.
//
//	recorder := weir.Must(ui.NewRecorder(nil))
//	limiter := weir.Must(weir.New(store, limit, &weir.Options{Observer: recorder}))
//	mux.Handle("/limits/", weir.Must(ui.New(recorder, nil)))
//
// A page works under any path, needs no other host, and changes nothing unless it is told
// how. Who may see it is up to what stands in front of it.
package ui
