package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/document"
	"github.com/weirgo/weir/policy"
)

// policyCommand is the command line of weir policy.
type policyCommand struct {
	Action    string   `arg:"" help:"check, explain, diff or schema."`
	Files     []string `arg:"optional" name:"file" help:"The policy, in YAML or JSON, or - for standard input. check takes several, diff takes two."`
	At        string   `placeholder:"TIME" help:"check, explain: the instant for which is looked, such as 2026-12-31T00:00:00Z (default now)."`
	Attr      []string `placeholder:"NAME[=VALUE]" help:"explain: an attribute of the request, NAME=VALUE. check: the name of an attribute that the application gives; others are then findings. Give the flag once for each."`
	Ignore    []string `placeholder:"KIND" help:"check: a kind of findings that is not shown. Give the flag once for each."`
	Strict    bool     `help:"check: a finding makes the exit status 1."`
	Method    string   `placeholder:"METHOD" help:"explain: the method of the request."`
	Host      string   `placeholder:"HOST" help:"explain: the host of the request."`
	Path      string   `placeholder:"PATH" help:"explain: the path of the request."`
	Store     string   `placeholder:"URL" help:"explain: show how the limits stand on this server; nothing is charged."`
	Prefix    *string  `placeholder:"TEXT" help:"explain: what the names of all keys on the server begin with (default weir:)."`
	SecretKey string   `placeholder:"FILE" help:"explain: the file of the key that secret attributes are replaced with; needed with --store where the policy has secret attributes."`
}

// policyUses are the flags that each action takes.
var policyUses = map[string]string{
	"check":   "ACTION FILE --at --attr --ignore --strict",
	"explain": "ACTION FILE --at --attr --method --host --path --store --prefix --secret-key",
	"diff":    "ACTION FILE",
	"schema":  "ACTION",
}

// Help is the long help, before the flags.
func (policyCommand) Help() string {
	return `check reads policies and shows what is wrong with them, each with its line, and then what is
allowed but probably not meant: ` + strings.Join(policy.LintKinds(), ", ") + `.
explain shows which lists and rules a request meets and why, which limits they ask, and with
--store how those stand.
diff shows what changes from one policy to another, and which limits start fresh.
schema writes the JSON Schema of policies, for editors.

Exit status: 0 done, 1 the answer is no: check --strict has a finding, the policies of diff
differ, explain finds that the request is denied; 2 wrong usage or a policy that cannot be
used, 3 something outside failed, such as a server, 130 interrupted.

Examples: weir policy check policy.yaml
          weir policy explain policy.yaml --method POST --path /api/orders --attr org=acme
          weir policy diff old.yaml new.yaml
          weir policy schema > policy.schema.json
`
}

// Run does what was asked for.
func (c *policyCommand) Run(ctx context.Context, s *streams) error {
	takes, known := policyUses[c.Action]
	if !known {
		return usageError{fmt.Errorf("%q is no action: must be check, explain, diff or schema", c.Action)}
	}
	if err := s.refuse(takes, func(flag string) error { return fmt.Errorf("%s does not go with %s: must be left out", flag, c.Action) }); err != nil {
		return err
	}
	if err := checkStandardInput(c.Files); err != nil {
		return err
	}
	at, err := c.instant()
	if err != nil {
		return err
	}
	switch n := len(c.Files); {
	case c.Action == "schema":
		_, err := s.out.Write(policy.Schema(nil))
		return err
	case c.Action == "check" && n == 0:
		return usageError{errors.New("the file is missing: must be a policy, or several")}
	case c.Action == "explain" && n != 1:
		return usageError{fmt.Errorf("%d files to explain: must be one", n)}
	case c.Action == "diff" && n != 2:
		return usageError{fmt.Errorf("%d files to compare: must be two", n)}
	}
	switch c.Action {
	case "check":
		return c.check(ctx, s, at)
	case "diff":
		return c.diff(ctx, s)
	}
	return c.explain(ctx, s, at)
}

func (c *policyCommand) instant() (time.Time, error) {
	if c.At == "" {
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, c.At)
	if err != nil {
		return at, usageError{fmt.Errorf("--at: %q is not allowed: must be RFC 3339 with a zone, such as 2026-12-31T00:00:00Z", c.At)}
	}
	return at, nil
}

// someKey stands for the key of secret attributes where no state depends on it.
var someKey = make([]byte, 16)

// loadPolicy reads a policy, which must be none of the files that the command writes. An
// error of the policy is an *policy.InvalidError with the name of the file.
func loadPolicy(ctx context.Context, s *streams, name string, opts *policy.CompileOptions, outputs ...outputFlag) (*policy.File, error) {
	file, _, err := readPolicy(ctx, s, name, opts, outputs)
	return file, err
}

// readPolicy is loadPolicy, and returns the text as well.
func readPolicy(ctx context.Context, s *streams, name string, opts *policy.CompileOptions, outputs []outputFlag) (*policy.File, []byte, error) {
	if opts == nil {
		opts = &policy.CompileOptions{SecretKey: someKey}
	}
	from, err := openSource(ctx, name, s.in)
	if err != nil {
		return nil, nil, err
	}
	defer from.Close() // nothing was written
	if err := from.checkOutputs(outputs, s.out, "the policy itself"); err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(from, document.MaxBytes+1)) // more than Parse takes: it says so
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", from.name, err)
	}
	file, err := policy.Parse(text, opts)
	var invalid *policy.InvalidError
	if errors.As(err, &invalid) {
		invalid.File = from.name
	}
	return file, text, err
}

// shownName is what reports call a file that is read.
func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// maxErrors is the most errors of one policy that are shown.
const maxErrors = 20

// check shows what is wrong with policies, and what is probably not meant.
func (c *policyCommand) check(ctx context.Context, s *streams, at time.Time) error {
	for _, kind := range c.Ignore {
		if !slices.Contains(policy.LintKinds(), kind) {
			return usageError{fmt.Errorf("--ignore: %q is not allowed: must be one of %s", kind, strings.Join(policy.LintKinds(), ", "))}
		}
	}
	bad, findings := 0, 0
	for _, name := range c.Files {
		file, err := loadPolicy(ctx, s, name, nil)
		var invalid *policy.InvalidError
		switch {
		case errors.As(err, &invalid):
			bad++
			if err := showMistakes(s.out, invalid); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		n, err := c.showFindings(s.out, shownName(name), file, at)
		if err != nil {
			return err
		}
		findings += n
	}
	switch {
	case bad == 1:
		return inputError{errors.New("1 policy cannot be used")}
	case bad > 1:
		return inputError{fmt.Errorf("%d policies cannot be used", bad)}
	case findings > 0 && c.Strict:
		return answerError{errors.New(report.Count(int64(findings), "finding"))}
	}
	return nil
}

// showMistakes writes a line for each error, as compilers do.
func showMistakes(w io.Writer, invalid *policy.InvalidError) error {
	for i, e := range invalid.Fields {
		if i == maxErrors {
			_, err := fmt.Fprintf(w, "%s: and %d more\n", invalid.File, len(invalid.Fields)-i)
			return err
		}
		plain := *e
		plain.Line, plain.Column = 0, 0
		text := fmt.Sprintf("%s:%d:%d: %v\n", invalid.File, e.Line, e.Column, &plain)
		if _, err := io.WriteString(w, report.Visible(text)); err != nil {
			return err
		}
	}
	return nil
}

// showFindings writes a line for each finding and one for the policy.
func (c *policyCommand) showFindings(w io.Writer, name string, file *policy.File, at time.Time) (n int, err error) {
	for _, f := range file.Lint(&policy.LintOptions{At: at, Attributes: c.Attr}) {
		if slices.Contains(c.Ignore, f.Kind) {
			continue
		}
		n++
		where := f.Path.String()
		if where != "" {
			where += ": "
		}
		text := fmt.Sprintf("%s:%d:%d: %s: %s%s\n", name, f.Line, f.Column, f.Kind, where, f.Text)
		if _, err := io.WriteString(w, report.Visible(text)); err != nil {
			return n, err
		}
	}
	_, err = fmt.Fprintf(w, "%s: version %s, %s, %s, %s\n", name, file.Compiled.Version(),
		report.Count(int64(len(file.Policy.Rules)), "rule"), report.Count(int64(len(file.Policy.Tiers)), "tier"), report.Count(int64(n), "finding"))
	return n, err
}
