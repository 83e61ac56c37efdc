package traffic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weirgo/weir/sim/scenario"
)

// counts is a rate that is given step by step, such as the requests per minute of a
// real server. Within a step it is a Poisson process.
type counts struct {
	list   []int64
	step   int64
	repeat bool
}

// maxCounts is the largest number of steps: two years of minutes.
const maxCounts = 1 << 20

func newCounts(p scenario.Process, e env) (process, error) {
	if p.File != "" {
		if e.files == nil {
			return nil, refuse("file", p.File, "absent: no files may be read here")
		}
		f, err := e.files.Open(p.File)
		if err == nil {
			p.Counts, err = readCounts(f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return nil, &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: %w", p.File, err)}
		}
		name := p.File
		if p.File = ""; p.Counts == nil {
			err = refuse("counts", "0 of them", "1 to 1048576 of them")
		} else {
			err = p.Validate()
		}
		if err != nil {
			return nil, &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: %w", name, err)}
		}
	}
	return &thinning{profile: &counts{p.Counts, micros(p.Step), p.Repeat}, draw: e.gaps}, nil
}

// readCounts reads the numbers of a counts process: one whole number from 0 a line.
// What follows a # is left out, and so are empty lines.
func readCounts(r io.Reader) ([]int64, error) {
	var list []int64
	lines := bufio.NewScanner(r)
	for at := 1; lines.Scan(); at++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("line %d: %q is not allowed: must be a whole number from 0", at, text)
		}
		if len(list) == maxCounts {
			return nil, fmt.Errorf("line %d: %q is not allowed: must be absent: at most %d numbers", at, text, maxCounts)
		}
		list = append(list, n)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return list, nil
}

func (c *counts) rate(at int64) float64 {
	most, _ := c.bound(at)
	return most
}

func (c *counts) bound(at int64) (most float64, until int64) {
	i := at / c.step
	n := int64(len(c.list))
	if i >= n && !c.repeat {
		return 0, maxAt + 1
	}
	return float64(c.list[i%n]) / float64(c.step), (i + 1) * c.step
}
