package main

import (
	"fmt"
	"slices"
	"time"
)

const visitCount = 470

// hourly is the shape of the day: how much of the traffic begins in each hour.
var hourly = newTable([]int{
	6, 4, 3, 2, 2, 3, 6, 12, 20, 28, 34, 38, // night and morning
	40, 48, 56, 58, 54, 46, 38, 34, 32, 26, 16, 10, // afternoon and evening
})

// moment draws an instant of the day.
func (w *world) moment() time.Duration {
	hour := time.Duration(w.traffic.index(hourly)) * time.Hour
	return hour + w.traffic.duration(0, time.Hour-time.Millisecond)
}

// visits adds the ordinary traffic.
func (w *world) visits() {
	starts := make([]time.Duration, visitCount)
	for i := range starts {
		starts[i] = w.moment()
	}
	slices.Sort(starts) // a visitor's first visit must be the earliest: it fills the browser's cache

	visited := make([]bool, populationSize)
	for _, at := range starts {
		rank := w.clients.index(w.popularity)
		from := w.population[rank]
		switch from.kind {
		case browser:
			w.browse(from, at, visited[rank])
		case app, script:
			w.askStock(from, at)
		case feed:
			w.readFeed(from, at, visited[rank])
		}
		visited[rank] = true
	}
}

// browse adds one or two pages with their assets. Now and then the visitor logs in.
func (w *world) browse(from client, at time.Duration, cached bool) {
	var referer string
	if w.paths.chance(25) {
		referer = "https://search.example/"
	}
	for range w.traffic.between(1, 2) {
		p := w.nextPage()
		took := w.traffic.duration(15*time.Millisecond, 140*time.Millisecond)
		w.add(request{at: at, took: took, from: from, method: "GET", path: p.path,
			status: p.reply.status, bytes: p.reply.bytes, referer: referer})
		if p.reply.status == 200 || p.reply.status == 404 {
			w.fetchAssets(from, at+took, p, cached)
			cached = true
			referer = origin + p.path
		}
		at += took + w.traffic.duration(6*time.Second, 80*time.Second)
	}
	if w.paths.chance(5) {
		w.logIn(from, at)
	}
}

// fetchAssets adds what the browser loads after the page. A browser that has the files only asks for some of them again, and
// hears that they have not changed.
func (w *world) fetchAssets(from client, at time.Duration, p page, cached bool) {
	fetch := func(file asset, status, bytes int) {
		w.add(request{
			at:     at + w.traffic.duration(20*time.Millisecond, 400*time.Millisecond),
			took:   w.traffic.duration(time.Millisecond, 12*time.Millisecond),
			from:   from,
			method: "GET", path: file.path, status: status, bytes: bytes,
			referer: origin + p.path,
		})
	}
	for _, file := range assets {
		if !cached {
			fetch(file, 200, file.bytes)
		} else if w.paths.chance(20) {
			fetch(file, 304, 0)
		}
	}
	if p.book > 0 {
		cover := asset{fmt.Sprintf("/covers/%d.jpg", p.book), coverSize(p.book)}
		fetch(cover, 200, cover.bytes)
	}
}

// logIn adds the login page and a login that succeeds, mostly at the first attempt.
func (w *world) logIn(from client, at time.Duration) {
	w.add(request{at: at, took: w.traffic.duration(10*time.Millisecond, 40*time.Millisecond), from: from,
		method: "GET", path: loginPath, status: 200, bytes: loginSize})
	answers := []reply{{302, 0}}
	if w.paths.chance(25) {
		answers = []reply{{401, loginSize}, {302, 0}}
	}
	for _, answer := range answers {
		at += w.traffic.duration(4*time.Second, 12*time.Second)
		w.add(request{at: at, took: w.traffic.duration(90*time.Millisecond, 160*time.Millisecond), from: from,
			method: "POST", path: loginPath, status: answer.status, bytes: answer.bytes, referer: origin + loginPath})
	}
}

// askStock adds one to three calls of the stock service.
func (w *world) askStock(from client, at time.Duration) {
	for range w.traffic.between(1, 3) {
		took := w.traffic.duration(3*time.Millisecond, 40*time.Millisecond)
		w.add(w.stockRequest(from, at, took))
		at += took + w.traffic.duration(time.Second, 9*time.Second)
	}
}

// stockRequest asks how many copies of a book are left.
func (w *world) stockRequest(from client, at, took time.Duration) request {
	answer := reply{200, w.paths.between(86, 240)}
	switch draw := w.paths.IntN(100); {
	case draw < 3:
		answer = reply{404, 41}
	case draw < 5:
		answer = reply{503, 58}
	}
	return request{at: at, took: took, from: from, method: "GET",
		path: fmt.Sprintf("/api/v1/stock/%d", w.nextBook()), status: answer.status, bytes: answer.bytes}
}

func (w *world) readFeed(from client, at time.Duration, cached bool) {
	answer := reply{200, 11_902}
	if cached {
		answer = reply{304, 0}
	}
	w.add(request{at: at, took: w.traffic.duration(4*time.Millisecond, 30*time.Millisecond), from: from,
		method: "GET", path: "/feed.xml", status: answer.status, bytes: answer.bytes})
}
