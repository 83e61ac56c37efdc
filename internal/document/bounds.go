package document

import "github.com/goccy/go-yaml/token"

// collection is a list or a mapping that is open while tokens are read.
type collection struct {
	column int // where a block begins; 0 between brackets
	list   bool
	fields int
}

// counter counts what is open, without parsing.
type counter struct {
	open      []collection
	documents int
	dashes    int // that follow each other
}

// checkBounds refuses a text that would take the parser long: its time grows with the
// square of the depth, of the number of documents, and of the fields of one mapping.
func checkBounds(tokens token.Tokens) *Error {
	var c counter
	for i, t := range tokens {
		key := t
		if t.Type == token.MappingValueType && i > 0 {
			key = tokens[i-1]
		}
		c.count(t.Type, key.Position.Column)
		refuse := func(format string, args ...any) *Error { return fatal(placeOf(t), format, args...)[0] }
		depth := max(len(c.open), c.dashes)
		switch {
		case i >= maxWords:
			return refuse("more than %d words: must be fewer", maxWords)
		case c.documents > 3: // a marker before and one after it are usual
			return refuse("several documents: must be one")
		case depth > maxDepth:
			return refuse("%d lists and mappings in each other: must be at most %d", depth, maxDepth)
		case len(c.open) > 0 && c.open[len(c.open)-1].fields > maxFields:
			return refuse("a mapping of more than %d fields: must have fewer", maxFields)
		}
	}
	return nil
}

// count follows a token; column is where its block begins, if it belongs to one.
func (c *counter) count(t token.Type, column int) {
	last := len(c.open) - 1
	flow := last >= 0 && c.open[last].column == 0
	if t != token.SequenceEntryType {
		c.dashes = 0
	}
	switch t {
	case token.SequenceStartType, token.MappingStartType:
		c.open = append(c.open, collection{list: t == token.SequenceStartType})
	case token.SequenceEndType, token.MappingEndType:
		if flow {
			c.open = c.open[:last]
		}
	case token.CollectEntryType: // a comma
		if flow && !c.open[last].list {
			c.open[last].fields++
		}
	case token.DocumentHeaderType, token.DocumentEndType:
		c.documents++
		c.open = c.open[:0]
	case token.SequenceEntryType:
		c.dashes++
		c.block(column, true)
	case token.MappingValueType, token.MappingKeyType:
		if !flow {
			c.block(column, false)
		}
	}
}

// block enters the block of a column, or goes back to it.
func (c *counter) block(column int, list bool) {
	for len(c.open) > 0 && c.open[len(c.open)-1].column > column {
		c.open = c.open[:len(c.open)-1]
	}
	last := len(c.open) - 1
	if last < 0 || c.open[last].column < column || c.open[last].list != list {
		// A list may stand in the column of the field that it belongs to.
		if last > 0 && c.open[last].column == column && c.open[last-1].column == column {
			c.open = c.open[:last]
		} else {
			c.open = append(c.open, collection{column: column, list: list})
		}
		last = len(c.open) - 1
	}
	if !list {
		c.open[last].fields++
	}
}
