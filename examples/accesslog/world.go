package main

import (
	"bytes"
	"cmp"
	"slices"
)

// world is the day under construction.
type world struct {
	traffic stream // when, how many, how long
	clients stream // who
	paths   stream // what, and what is answered

	population     []client
	popularity     table // of the population
	bookPopularity table
	requests       []request // in the order in which they were invented
}

// generate returns the log of the day that the seed stands for.
func generate(seed uint64) []byte {
	w := &world{
		traffic:        newStream(seed, "traffic"),
		clients:        newStream(seed, "clients"),
		paths:          newStream(seed, "paths"),
		popularity:     zipf(populationSize),
		bookPopularity: zipf(books),
	}
	w.population = newPopulation(w.clients)
	w.visits()
	w.bursts()
	w.crawl()
	w.guessPasswords()
	w.exportReports()

	lines := w.lines()
	damage(lines, newStream(seed, "damage"))
	var log bytes.Buffer
	for _, line := range lines {
		log.WriteString(line)
		log.WriteByte('\n')
	}
	return log.Bytes()
}

// lines returns the lines as a server writes them: when a request ends, with the time at which it began. So the line of a slow
// request stands below lines with a later time.
func (w *world) lines() []string {
	slices.SortStableFunc(w.requests, func(a, b request) int {
		return cmp.Compare(a.at+a.took, b.at+b.took)
	})
	var lines []string
	for _, r := range w.requests {
		if r.at < day { // what begins after midnight belongs to the next day's log
			lines = append(lines, r.line())
		}
	}
	return lines
}

func (w *world) add(r request) {
	w.requests = append(w.requests, r)
}
