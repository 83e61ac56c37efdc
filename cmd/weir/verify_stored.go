package main

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// inspect is conformance.Config.Inspect.
func (s *serverSubject) inspect(t conformance.TB, states store.Store, slot store.Slot) (conformance.Stored, bool) {
	name := nameOf(states, slot)
	ask := func(args ...string) any {
		reply, err := s.ask(args...)
		if err != nil {
			t.Fatalf("%s of what is stored: %v", args[0], err)
		}
		return reply
	}
	kept := conformance.Stored{TTL: conformance.UnknownTTL}
	if !s.blind {
		switch left := ask("PTTL", name).(int64); left {
		case -1: // no end
			kept.TTL = algorithm.Never
		default:
			kept.TTL = time.Duration(max(0, left)) * time.Millisecond
		}
	}
	if !isList(slot) {
		text, found := ask("GET", name).(string)
		kept.Text = text
		return kept, found
	}
	var words []string
	entries, _ := ask("LRANGE", name, "0", "-1").([]any)
	for _, entry := range entries {
		words = append(words, fmt.Sprint(entry))
	}
	kept.Text = loglist.Text(words)
	return kept, len(words) > 0
}

// corrupt is conformance.Config.Corrupt. What it writes expires as well.
func (s *serverSubject) corrupt(t conformance.TB, states store.Store, slot store.Slot, text string) {
	const life = "3600000" // ms
	name := nameOf(states, slot)
	commands := [][]string{{"SET", name, text, "PX", life}}
	if isList(slot) {
		commands = [][]string{{"DEL", name}, append([]string{"RPUSH", name}, loglist.Elements(text)...), {"PEXPIRE", name, life}}
	}
	for _, args := range commands {
		if _, err := s.ask(args...); err != nil {
			t.Fatalf("%s of something damaged: %v", args[0], err)
		}
	}
}

// isList reports whether a server keeps the state of a slot as a list. A kind of no
// family is one that runs in Go only: its state is a string.
func isList(slot store.Slot) bool {
	f, _ := algorithm.FamilyOf(slot.Algorithm.Spec().Kind)
	return f.Log
}

// nameOf is the stored name of a slot.
func nameOf(states store.Store, slot store.Slot) string {
	return script.StoredName(states.(*scratchStore).prefix, slot.ID())
}
