// Command scripts writes the Lua that a server runs into the folder generated of
// store/script, in which it is run:
//
//	go run ../../internal/generate/scripts
//
// A test of store/script compares the files with generate.Scripts.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/weirgo/weir/internal/generate"
	"github.com/weirgo/weir/store/script/kind"
)

func main() {
	log.SetFlags(0)
	var kinds []string
	for _, k := range kind.All() {
		kinds = append(kinds, k.File)
	}
	all, err := generate.Scripts(".", kinds)
	if err != nil {
		log.Fatal("scripts: ", err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join("generated", name+".lua"), []byte(text), 0o644); err != nil {
			log.Fatal("scripts: ", err)
		}
	}
}
