package api_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const referencePage = "../docs/reference/grpc.md"

// TestReferenceIsTheProto writes the page from the comments of the .proto file.
func TestReferenceIsTheProto(t *testing.T) {
	want := reference(fileOf(t, compiled(t)))
	if *update {
		if err := os.WriteFile(referencePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is not what %s says: go test . -run TestReferenceIsTheProto -update", referencePage, protoFile)
	}
}

func reference(file protoreflect.FileDescriptor) string {
	var b strings.Builder
	comment := func(d protoreflect.Descriptor) string {
		return strings.Join(strings.Fields(file.SourceLocations().ByDescriptor(d).LeadingComments), " ")
	}
	b.WriteString(`# The gRPC interface

This page is written from ` + "`api/proto/" + protoFile + "`" + ` by a test of ` + "`api`" + `. [Calling the service](../guides/clients.md) shows clients.

`)
	const syntax = 12 // the field of a file; the comment at the top stands before it
	b.WriteString(paragraphs(file.SourceLocations().ByPath(protoreflect.SourcePath{syntax}).LeadingComments))
	for i := range file.Services().Len() {
		s := file.Services().Get(i)
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| method | request | answer | |\n|---|---|---|---|\n", s.FullName(), comment(s))
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name(), link(m.Input()), link(m.Output()), comment(m))
		}
	}
	b.WriteString("\n## Messages\n")
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", m.Name(), comment(m))
		if m.Fields().Len() > 0 {
			b.WriteString("\n| field | number | type | |\n|---|---|---|---|\n")
		}
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", f.Name(), f.Number(), words(f), cmp.Or(comment(f), likeCheck(f)))
		}
	}
	b.WriteString("\n## Values\n")
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| value | number | |\n|---|---|---|\n", e.Name(), comment(e))
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			text, _, _ := strings.Cut(comment(v), " buf:lint:")
			fmt.Fprintf(&b, "| `%s` | %d | %s |\n", v.Name(), v.Number(), text)
		}
	}
	return b.String()
}

// paragraphs are a comment of several paragraphs; its indented lines are text as it is.
func paragraphs(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), " ")
		if code := strings.HasPrefix(line, "  "); code != indented {
			if code || line == "" {
				b.WriteString("```" + map[bool]string{true: "text"}[code] + "\n")
				indented = code
			}
		}
		b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
	}
	return b.String() + "\n"
}

// likeCheck is the comment of a field that CheckRequest or CheckResponse explains.
func likeCheck(f protoreflect.FieldDescriptor) string {
	for _, name := range []protoreflect.Name{"CheckRequest", "CheckResponse"} {
		m := f.ParentFile().Messages().ByName(name)
		if explained := m.Fields().ByNumber(f.Number()); explained != nil && explained.Name() == f.Name() {
			return "As in " + link(m) + "."
		}
	}
	return ""
}

func link(m protoreflect.MessageDescriptor) string {
	return fmt.Sprintf("[%s](#%s)", m.Name(), strings.ToLower(string(m.Name())))
}

// words is the type of a field.
func words(f protoreflect.FieldDescriptor) string {
	name := "`" + f.Kind().String() + "`"
	switch {
	case f.IsMap():
		return "map of `string` to `string`"
	case f.Enum() != nil:
		name = fmt.Sprintf("[%s](#%s)", f.Enum().Name(), strings.ToLower(string(f.Enum().Name())))
	case f.Message() != nil && f.Message().ParentFile() == f.ParentFile():
		name = link(f.Message())
	case f.Message() != nil:
		name = "`" + string(f.Message().FullName()) + "`"
	}
	switch {
	case f.IsList():
		return "repeated " + name
	case f.HasOptionalKeyword():
		return "optional " + name
	case f.ContainingOneof() != nil:
		return "one of " + name
	}
	return name
}
