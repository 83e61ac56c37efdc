package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/weirgo/weir/algorithm"
)

// object is a part of a JSON Schema.
type object = map[string]any

// rules of whole mappings, which no field by itself can tell.
var together = map[reflect.Type]object{
	reflect.TypeFor[Rule](): {
		"oneOf": []any{object{"required": []string{"limit"}}, object{"required": []string{"limits"}}, object{"required": []string{"endpoints"}}},
		"if":    object{"required": []string{"endpoints"}},
		"then":  object{"properties": object{"match": object{"properties": object{"endpoints": false}}}},
	},
	reflect.TypeFor[Cost]():      {"dependentRequired": object{"attribute": []string{"default"}, "max": []string{"attribute"}}},
	reflect.TypeFor[Subject]():   {"anyOf": []any{object{"required": []string{"tier"}}, object{"required": []string{"limits"}}}},
	reflect.TypeFor[LimitRef]():  {"minProperties": 1},
	reflect.TypeFor[Scheduled](): {"oneOf": []any{object{"required": []string{"limit"}}, object{"required": []string{"limits"}}}},
}

// Schema returns the JSON Schema (draft 2020-12) of policy files, for editors. r has the
// algorithms; nil are those of package algorithm. A file that Parse reads is valid. What
// a schema cannot tell, such as a tier that is nowhere defined, only Parse finds.
func Schema(r *algorithm.Registry) []byte {
	spec := fmt.Sprintf(`^(0|unlimited|(%s):[0-9]+/[0-9a-zµμ.]+(,[a-z0-9-]+=[0-9]+)?)$`, strings.Join(familyNames(r), "|"))
	scalar := object{"type": []string{"string", "number", "boolean"}}
	defs := object{
		"Spec": object{"anyOf": []any{object{"type": "string", "pattern": spec}, object{"const": 0}},
			"description": "A limit, such as gcra:100/1m,burst=20; 0 blocks, unlimited exempts."},
		"Conditions": object{"type": "object", "propertyNames": object{"pattern": namePattern},
			"additionalProperties": object{"anyOf": []any{scalar, object{"type": "array", "minItems": 1, "items": scalar}}},
			"description":          `What attributes must be: a value or several, "*" for any, "" for none, "!x" for any but x.`},
	}
	for _, s := range table {
		defs[s.of.Name()] = s.schema()
	}
	policy := defs["Policy"].(object)
	delete(defs, "Policy")
	policy["$schema"], policy["title"], policy["$defs"] = "https://json-schema.org/draft/2020-12/schema", "Rate-limit policy", defs
	text, err := json.MarshalIndent(policy, "", "  ")
	if err != nil {
		panic(err) // a value of the package
	}
	return append(text, '\n')
}

func (s *structInfo) schema() object {
	properties, required := object{}, []string{}
	for _, f := range s.fields {
		field := s.of.Field(fieldsOf(s.of).index[f.name])
		properties[f.name] = f.schema(field.Type)
		if f.required {
			required = append(required, f.name)
		}
	}
	made := object{"type": "object", "properties": properties, "additionalProperties": false, "description": plainText(s.about)}
	if len(required) > 0 {
		made["required"] = required
	}
	maps.Copy(made, together[s.of])
	if s.of == limitRefType {
		return object{"anyOf": []any{object{"$ref": "#/$defs/Spec"}, made}}
	}
	return made
}

func (f *fieldInfo) schema(t reflect.Type) object {
	made := typeSchema(t)
	about := plainText(f.about)
	if f.usual != "" {
		about += " Default: " + plainText(f.usual) + "."
	}
	made["description"] = about
	if f.max > 0 {
		made["minimum"], made["maximum"] = f.min, f.max
	}
	if f.choices != nil {
		made["enum"] = f.choices
	}
	if f.pattern != "" {
		made["pattern"] = f.pattern
	}
	switch {
	case f.some && t.Kind() == reflect.Slice:
		made["minItems"] = 1
	case f.some:
		made["minProperties"] = 1
	}
	if f.patterns {
		delete(made, "propertyNames")
	}
	return made
}

func typeSchema(t reflect.Type) object {
	switch {
	case t == timeType:
		return object{"type": "string", "pattern": timePattern}
	case t == specType, t == conditionsType, t.Kind() == reflect.Struct:
		return object{"$ref": "#/$defs/" + t.Name()}
	}
	switch t.Kind() {
	case reflect.Map:
		return object{"type": "object", "propertyNames": object{"pattern": namePattern}, "additionalProperties": typeSchema(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Bool:
		return object{"type": "boolean"}
	}
	return object{"type": "string"}
}

var (
	markdownLink = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	seeLink      = regexp.MustCompile(`;? [Ss]ee \[[^]]*\]\([^)]*\)`)
)

// plainText is a text of the reference without its marks.
func plainText(text string) string {
	return strings.ReplaceAll(markdownLink.ReplaceAllString(seeLink.ReplaceAllString(text, ""), "$1"), "`", "")
}
