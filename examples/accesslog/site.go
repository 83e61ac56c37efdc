package main

import "fmt"

const (
	origin = "https://books.example"

	// books is the size of the catalogue. Higher numbers are books that are no longer sold.
	books = 320

	// A failed login shows the page again, so both have one size.
	loginPath = "/login"
	loginSize = 1_874
)

// reply is what the site answers to one request.
type reply struct{ status, bytes int }

// asset is a file that a page brings along.
type asset struct {
	path  string
	bytes int
}

var assets = []asset{
	{"/static/site.css", 14_208},
	{"/static/site.js", 38_551},
}

var searches = []string{"sailing", "rivers", "bread", "go+programming", "moss", "short+stories", "maps"}

// frontPages are the pages that are not a book.
var frontPages = []asset{
	{"/", 9_844}, {"/books", 18_230}, {"/news", 7_412}, {"/events", 5_120}, {"/about", 3_377}, {"/opening-hours", 2_690},
}

// bookSize gives each book one size for the whole day without a table of them.
func bookSize(book int) int {
	return 5_200 + book*7919%6_000
}

func coverSize(book int) int {
	return 21_000 + book*6367%48_000
}

func bookPath(book int) string {
	return fmt.Sprintf("/books/%d", book)
}

// page is one page view: what was asked, what was answered, and the book it shows (0 for none).
type page struct {
	path  string
	reply reply
	book  int
}

// nextPage draws a page that somebody with a browser opens.
func (w *world) nextPage() page {
	switch draw := w.paths.IntN(100); {
	case draw < 50:
		book := w.nextBook()
		return page{bookPath(book), reply{200, bookSize(book)}, book}
	case draw < 84:
		front := pick(w.paths, frontPages)
		return page{front.path, reply{200, front.bytes}, 0}
	case draw < 94:
		return page{"/search?q=" + pick(w.paths, searches), reply{200, w.paths.between(4_000, 16_000)}, 0}
	case draw < 97:
		return page{bookPath(books + w.paths.between(1, 80)), reply{404, 1_536}, 0}
	case draw < 99:
		return page{"/index.html", reply{301, 231}, 0}
	default:
		return page{bookPath(w.nextBook()), reply{500, 612}, 0}
	}
}

// nextBook draws a book; the low numbers are the popular ones.
func (w *world) nextBook() int {
	return w.paths.index(w.bookPopularity) + 1
}
