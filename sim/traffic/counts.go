package traffic

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
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

func newCounts(p Process, env processEnv) (process, error) {
	defaults(&p.Step, time.Minute)
	if err := span(env.of, "step", p.Step, time.Microsecond, longest); err != nil {
		return nil, err
	}
	list := slices.Clone(p.Counts)
	switch {
	case p.File != "" && list != nil:
		return nil, refuse(env.of, "file", p.File, "absent where counts are given")
	case p.File != "" && env.files == nil:
		return nil, refuse(env.of, "file", p.File, "absent: no files may be read here")
	case p.File != "":
		f, err := env.files.Open(p.File)
		if err != nil {
			return nil, fmt.Errorf("traffic: %s: file: %w", env.of, err)
		}
		list, err = readCounts(f)
		if err := closed(f, err); err != nil {
			return nil, fmt.Errorf("traffic: %s: file %s: %w", env.of, p.File, err)
		}
	}
	if len(list) < 1 || len(list) > maxCounts {
		return nil, refuse(env.of, "counts", strconv.Itoa(len(list))+" numbers", "1 to "+strconv.Itoa(maxCounts)+" numbers")
	}
	step := micros(p.Step)
	for i, n := range list {
		if n < 0 || n/maxUnitsPerMicro > step {
			return nil, refuse(env.of, fmt.Sprintf("counts[%d]", i), strconv.FormatInt(n, 10), "from 0 to 1000 per µs")
		}
	}
	if slices.Max(list) == 0 {
		return nil, refuse(env.of, "counts", "0 throughout", "above 0 somewhere")
	}
	return newThinning(&counts{list, step, p.Repeat}, env.gaps), nil
}

// closed closes f and returns the first of the two errors.
func closed(f io.Closer, err error) error {
	if later := f.Close(); err == nil {
		return later
	}
	return err
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
			return nil, refuse("counts", fmt.Sprintf("line %d", at), strconv.Quote(text), "a whole number from 0")
		}
		if len(list) == maxCounts {
			return nil, refuse("counts", fmt.Sprintf("line %d", at), strconv.Quote(text), fmt.Sprintf("absent: at most %d numbers", maxCounts))
		}
		list = append(list, n)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("traffic: counts: %w", err)
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
