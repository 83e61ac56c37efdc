package main

import (
	"context"
	"io"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
	"github.com/weirgo/weir/cmd/weir/internal/suggest"
)

var curveColours = []chart.Colour{chart.Blue, chart.Vermilion, chart.Green, chart.Purple, chart.Sky, chart.Orange}

// plot draws the clients that each limit hits and the requests that it denies, by its number.
func (a *suggestions) plot(ctx context.Context, name string, traffic *suggest.Traffic, w io.Writer) error {
	var forms []string
	var found []int64
	for _, l := range a.Limits {
		forms = append(forms, l.Form)
		if l.Found {
			found = append(found, l.found.Number)
		}
	}
	clients, requests := curves("clients", forms), curves("requests", forms)
	for _, n := range suggest.Numbers(found...) {
		var effects []suggest.Effect
		for _, form := range forms {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if limit, err := suggest.Form(form).With(n); err == nil { // else the number is more than the form allows
				effects = append(effects, traffic.Effect(limit))
			}
		}
		if len(effects) < len(forms) {
			break
		}
		clients.At, requests.At = append(clients.At, float64(n)), append(requests.At, float64(n))
		for i, e := range effects {
			clients.Series[i].Values = append(clients.Series[i].Values, float64(e.Clients))
			requests.Series[i].Values = append(requests.Series[i].Values, float64(e.Requests))
		}
	}
	by := "By " + strings.Join(forms, ", ") + "."
	sheet := &chart.Sheet{Title: a.Trace, Groups: [][]*chart.Chart{{
		{Title: "Clients that a limit hits", Text: by, Lines: clients}, {Title: "Requests that it denies", Text: by, Lines: requests},
	}}}
	return sheet.Write(w, name)
}

// curves are lines without points, one for each limit.
func curves(of string, forms []string) *chart.Lines {
	lines := &chart.Lines{X: chart.Axis{Label: "the number in the place of ?", Scale: chart.Powers}, Y: chart.Axis{Label: of, Scale: chart.Numbers}}
	for i, form := range forms {
		lines.Series = append(lines.Series, chart.Series{Name: form, Colour: curveColours[i%len(curveColours)], Dashed: i >= len(curveColours)})
	}
	return lines
}
