package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/weirgo/weir/internal/document"
)

// Parse reads a scenario in YAML, of which JSON is a part, and validates it. It is
// strict: an unknown field, a field given twice and a value that does not fit are
// errors. The error is an *Error, or an error of reading.
func Parse(r io.Reader) (*Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(r, document.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	s := new(Scenario)
	if s.places, err = decode(text, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, s.Locate(err)
	}
	return s, nil
}

// Locate returns err with the line of the field that it is about, where err is an
// *Error, its line is not known yet and Parse has read s; otherwise it returns err. The
// line is the one of the nearest field around it that the text has. A field that the
// text does not have is missing.
func (s *Scenario) Locate(err error) error {
	var refused *Error
	if !errors.As(err, &refused) || refused.Line > 0 || s.places == nil {
		return err
	}
	located := *refused
	_, given := s.places[refused.Path]
	located.Missing = !given
	for path := refused.Path; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		if p, found := s.places[path]; found {
			located.Line, located.Column = p.Line, p.Column
			break
		}
	}
	return &located
}

func rateText(r Rate) ([]byte, error) { return []byte(r.String()), nil }

// YAML returns the text of a scenario, which Parse reads back to an equal one.
func (s *Scenario) YAML() ([]byte, error) {
	text, err := s.encode()
	if err != nil || s.Policy == "" {
		return text, err
	}
	// A policy is read more easily as a block of lines, which not every text can be.
	lines, err := s.encode(yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return nil, err
	}
	if back, err := Parse(bytes.NewReader(lines)); err == nil {
		if again, err := back.encode(); err == nil && bytes.Equal(again, text) {
			return lines, nil
		}
	}
	return text, nil
}

func (s *Scenario) encode(options ...yaml.EncodeOption) ([]byte, error) {
	var text bytes.Buffer
	options = append(options, yaml.IndentSequence(true), yaml.CustomMarshaler(rateText))
	if err := yaml.NewEncoder(&text, options...).Encode(s); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return text.Bytes(), nil
}
