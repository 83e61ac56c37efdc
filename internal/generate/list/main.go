// Command list writes a function that returns what the functions of a package
// return: those without receiver and parameters whose only result is of a given
// type. So a file that adds one is on the list, and nobody edits a list by hand.
//
//	go run ../internal/generate/list -type Family -func builtIn -out families_generated.go
//
// What the file lists already keeps its order; what is new comes behind it, by
// name. A test of each package compares the file with generate.List.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/weirgo/weir/internal/generate"
)

func main() {
	log.SetFlags(0)
	typ := flag.String("type", "", "the result type of the listed functions")
	name := flag.String("func", "", "the name of the function to write")
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	text, err := generate.List(".", *typ, *name, *out)
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		log.Fatal("list: ", err)
	}
}
