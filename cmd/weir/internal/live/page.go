// Package live shows in a terminal what a service does now: rates of what its page of metrics
// counts, from one reading of the page to the next.
package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Page is one reading of a page of metrics.
type Page struct {
	At       time.Time
	families map[string]*dto.MetricFamily
}

// maxPage bounds a page in bytes: 1,000 rules take about 1 MB.
const maxPage = 16 << 20

// Read reads a page. An error says what is wrong: the status of the answer, or that it is no
// page of a weir.
func Read(ctx context.Context, client *http.Client, url, token string) (*Page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	p := &Page{At: time.Now()}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	body := &io.LimitedReader{R: response.Body, N: maxPage + 1}
	p.families, err = parser.TextToMetricFamilies(body)
	switch {
	case body.N == 0:
		return nil, fmt.Errorf("%s: the page is larger than %d MB", url, maxPage>>20)
	case err != nil:
		return nil, fmt.Errorf("%s: no page of metrics: %w", url, err)
	case p.families["rate_limiter_config_reload_total"] == nil:
		return nil, fmt.Errorf("%s: no metric of weir is on the page", url)
	}
	return p, nil
}

// labels are those that a metric has to have.
type labels map[string]string

// label is the value of a label; "" for none.
func label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// metrics are those of a family with the labels.
func (p *Page) metrics(family string, with labels) []*dto.Metric {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.families["rate_limiter_"+family].GetMetric()), func(m *dto.Metric) bool {
		for name, value := range with {
			if label(m, name) != value {
				return true
			}
		}
		return false
	})
}

// value is that of a counter or a gauge.
func value(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
}

// sum is over all metrics of a family with the labels.
func (p *Page) sum(family string, with labels) (total float64) {
	for _, m := range p.metrics(family, with) {
		total += value(m)
	}
	return total
}

// values are the values that a label has in a family, sorted.
func (p *Page) values(family, name string) (all []string) {
	for _, m := range p.metrics(family, nil) {
		all = append(all, label(m, name))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Span is two readings of one page.
type Span struct{ Before, After *Page }

func (s Span) seconds() float64 { return s.After.At.Sub(s.Before.At).Seconds() }

// grown is by how much something has grown that began anew where it is smaller.
func grown(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// rate is how much a counter grows in a second.
func (s Span) rate(family string, with labels) float64 {
	return grown(s.Before.sum(family, with), s.After.sum(family, with)) / s.seconds()
}

// summary is the mean of what a summary has counted in the span, and how often; NaN for never.
func (s Span) summary(family string, with labels) (mean, perSecond float64) {
	of := func(p *Page) (count, sum float64) {
		for _, m := range p.metrics(family, with) {
			count += float64(m.GetSummary().GetSampleCount())
			sum += m.GetSummary().GetSampleSum()
		}
		return count, sum
	}
	count0, sum0 := of(s.Before)
	count1, sum1 := of(s.After)
	count := grown(count0, count1)
	return grown(sum0, sum1) / count, count / s.seconds()
}

// quantiles are those of a histogram in the span, as histogram_quantile of Prometheus finds
// them; NaN where nothing was counted.
func (s Span) quantiles(family string, with labels, at ...float64) []float64 {
	buckets := func(p *Page) map[float64]float64 {
		all := map[float64]float64{}
		for _, m := range p.metrics(family, with) {
			for _, b := range m.GetHistogram().GetBucket() {
				all[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
		}
		return all
	}
	before, after := buckets(s.Before), buckets(s.After)
	bounds := make([]float64, 0, len(after))
	for bound := range after {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	found := make([]float64, len(at))
	for i, q := range at {
		found[i] = quantile(q, bounds, before, after)
	}
	return found
}

func quantile(q float64, bounds []float64, before, after map[float64]float64) float64 {
	if len(bounds) == 0 {
		return math.NaN()
	}
	last := bounds[len(bounds)-1]
	count := func(bound float64) float64 {
		if after[last] < before[last] { // it began anew
			return after[bound]
		}
		return after[bound] - before[bound]
	}
	rank := q * count(last)
	if rank == 0 {
		return math.NaN()
	}
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		if upTo := count(bound); upTo >= rank {
			if math.IsInf(bound, 1) {
				return low // more than the largest bound
			}
			return low + (bound-low)*(rank-below)/(upTo-below)
		}
		low, below = bound, count(bound)
	}
	return low
}
