package main

import "time"

// bursts adds scripts that ask for a whole list of books without a pause: tens of requests within a few seconds.
func (w *world) bursts() {
	const count = 6
	var scripts []client
	for _, c := range w.population {
		if c.kind == script {
			scripts = append(scripts, c)
		}
	}
	first := w.clients.IntN(len(scripts))
	for i := range count {
		// Neighbours in the list, because two draws could give the same client.
		from := scripts[(first+i)%len(scripts)]
		start := w.moment()
		length := w.traffic.duration(2*time.Second, 5*time.Second)
		for range w.traffic.between(25, 45) {
			took := w.traffic.duration(2*time.Millisecond, 20*time.Millisecond)
			w.add(w.stockRequest(from, start+w.traffic.duration(0, length), took))
		}
	}
}

// crawl adds a polite robot: the whole day at one pace, through the catalogue in order.
func (w *world) crawl() {
	const pace = 8 * time.Minute
	for at, book := w.traffic.duration(0, pace), 0; at < day; at, book = at+pace, book+1 {
		r := request{
			at:     at + w.traffic.duration(0, 2*time.Second),
			took:   w.traffic.duration(20*time.Millisecond, 90*time.Millisecond),
			from:   crawler,
			method: "GET", path: bookPath(book), status: 200, bytes: bookSize(book),
		}
		if book == 0 { // no book has this number; a robot first reads the rules
			r.path, r.bytes = "/robots.txt", 68
		}
		w.add(r)
	}
}

// guessPasswords adds an attack on the login at night: slow enough to escape a limit per second, not one per hour.
func (w *world) guessPasswords() {
	const attempts = 110
	at := 3*time.Hour + w.traffic.duration(0, 20*time.Minute)
	for range attempts {
		w.add(request{at: at, took: w.traffic.duration(90*time.Millisecond, 160*time.Millisecond), from: guesser,
			method: "POST", path: loginPath, status: 401, bytes: loginSize})
		at += w.traffic.duration(6*time.Second, 14*time.Second)
	}
}

// exportReports adds the slow requests. The page that waits for an export asks for its progress meanwhile; those lines are
// written first, although they are later.
func (w *world) exportReports() {
	const count = 8
	for range count {
		at := 9*time.Hour + w.traffic.duration(0, 8*time.Hour)
		took := w.traffic.duration(8*time.Second, 25*time.Second)
		export := request{at: at, took: took, from: office, user: "anna", method: "POST", path: "/reports/export",
			status: 200, bytes: w.paths.between(400_000, 2_500_000), referer: origin + "/reports"}
		w.add(export)
		for asked := 4 * time.Second; asked < took; asked += 5 * time.Second {
			progress := export
			progress.at, progress.took = at+asked, w.traffic.duration(3*time.Millisecond, 9*time.Millisecond)
			progress.method, progress.path, progress.bytes = "GET", "/reports/progress", 47
			w.add(progress)
		}
	}
}
