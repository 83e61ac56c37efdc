package main

import (
	"fmt"
	"net/netip"
)

// client is one address with one program behind it.
type client struct {
	address  netip.Addr
	agent    string
	protocol string
	kind     kind
}

// kind says how a client behaves when it comes by.
type kind int

const (
	browser kind = iota // pages together with their assets
	app                 // a few calls of the stock service
	script              // like app, and it is scripts that burst
	feed                // the news feed
)

const (
	// populationSize is about twice the number of clients that come by within the day: the rare ones stay away.
	populationSize = 420

	// lastHost is the last host number given to the population. The numbers above it belong to the clients below.
	lastHost = 249
)

// Clients with a part of their own. Each is the only one of its sort, so that a replay can name it.
var (
	crawler = client{
		address:  netip.MustParseAddr("203.0.113.250"),
		agent:    "ExampleBot/1.4 (+https://bot.example/about)",
		protocol: "HTTP/1.1",
	}
	guesser = client{
		address:  netip.MustParseAddr("198.51.100.251"),
		agent:    "python-requests/2.32.3",
		protocol: "HTTP/1.1",
	}
	office = client{
		address:  netip.MustParseAddr("192.0.2.252"),
		agent:    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		protocol: "HTTP/2.0",
	}
)

// agents are the programs of each kind. The quote in one of them makes the log contain escaped quotes.
var agents = map[kind][]string{
	browser: {
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0",
		"Mozilla/5.0 (Android 15; Mobile; rv:147.0) Gecko/147.0 Firefox/147.0",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:146.0) Gecko/20100101 Firefox/146.0",
	},
	app: {
		"BookshopApp/4.2 (phone; Android 15)",
		"BookshopApp/4.2 (phone; iOS 18)",
		`BookshopApp/4.1 (tablet 10.9"; iPadOS 18)`,
	},
	script: {"curl/8.5.0", "python-requests/2.32.3", "Go-http-client/1.1", "Wget/1.21.4"},
	feed:   {"FeedBasket/2.1 (+https://feeds.example/)", "NewsPile/0.9"},
}

// newPopulation returns the ordinary clients, the most popular first.
func newPopulation(s stream) []client {
	kinds := newTable([]int{browser: 50, app: 30, script: 12, feed: 8})
	addresses := hosts()
	population := make([]client, populationSize)
	for i := range population {
		// One step of a shuffle: an address that was drawn is out of the way for the later draws.
		j := i + s.IntN(len(addresses)-i)
		addresses[i], addresses[j] = addresses[j], addresses[i]

		k := kind(s.index(kinds))
		protocol := "HTTP/1.1"
		if k == browser || k == app {
			protocol = "HTTP/2.0"
		}
		population[i] = client{address: addresses[i], agent: pick(s, agents[k]), protocol: protocol, kind: k}
	}
	return population
}

// hosts lists addresses that are reserved for documentation (RFC 5737 and RFC 3849) and therefore nobody's.
func hosts() []netip.Addr {
	var all []netip.Addr
	for _, network := range []string{"192.0.2", "198.51.100", "203.0.113"} {
		for host := 1; host <= lastHost; host++ {
			all = append(all, netip.MustParseAddr(fmt.Sprintf("%s.%d", network, host)))
		}
	}
	for home := range 100 {
		all = append(all, netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", 0x100+home, 0x10+home)))
	}
	return all
}
