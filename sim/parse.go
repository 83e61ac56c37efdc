package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxText bounds a scenario's text: far more than any needs.
const maxText = 16 << 20

// Parse reads a scenario in YAML, of which JSON is a part, and validates it. It is
// strict: an unknown field, a field given twice and a value that does not fit are
// errors with their line. The error is a *SyntaxError, a *FieldError about a field that
// is missing from the whole, or one of reading.
func Parse(r io.Reader) (*Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("sim: a scenario of more than %d bytes is not allowed", maxText)
	}
	var d decoder
	s := new(Scenario)
	if err := d.decodeDocument(text, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, d.locate(err)
	}
	return s, nil
}

// Locate adds to a *FieldError the line of the field in the text of the scenario, as Parse
// does. It is for what Run finds out about a scenario that Parse has read. Other errors,
// and those about a text that cannot be read, are returned as they are.
func Locate(text []byte, err error) error {
	var d decoder
	if d.decodeDocument(text, new(Scenario)) != nil {
		return err
	}
	return d.locate(err)
}

// locate adds the line of the refused field, or of the nearest one around it that the
// text has. One that the text does not have is missing; no line is known of one that is
// missing from the whole.
func (d *decoder) locate(err error) error {
	var refused *FieldError
	if !errors.As(err, &refused) {
		return err
	}
	if d.lines[refused.Path] == nil {
		missing := *refused
		missing.Missing = true
		err = &missing
		if !strings.ContainsAny(refused.Path, ".[") {
			return err
		}
	}
	for path := refused.Path; ; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		if p := d.lines[path]; p != nil {
			return atPosition(p, "", err)
		}
	}
}

// YAML returns the text of a scenario, which Parse reads back to an equal one.
func (s *Scenario) YAML() ([]byte, error) {
	var text bytes.Buffer
	if err := yaml.NewEncoder(&text, yaml.IndentSequence(true)).Encode(s); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	return text.Bytes(), nil
}
