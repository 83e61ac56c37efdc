package envoy

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v2"
	"google.golang.org/protobuf/types/known/structpb"
)

// fileRoot and the types below are a file as it is written.
type fileRoot struct {
	Domain      string
	Descriptors []fileDescriptor
}

type fileDescriptor struct {
	Key            string
	Value          string
	RateLimit      *fileLimit `yaml:"rate_limit"`
	Descriptors    []fileDescriptor
	ShadowMode     bool `yaml:"shadow_mode"`
	QuotaMode      bool `yaml:"quota_mode"`
	DetailedMetric bool `yaml:"detailed_metric"`
	ValueToMetric  bool `yaml:"value_to_metric"`
	ShareThreshold bool `yaml:"share_threshold"`
	Metadata       map[string]any
}

type fileLimit struct {
	RequestsPerUnit uint32 `yaml:"requests_per_unit"`
	Unit            string
	Unlimited       bool
	Name            string
	Replaces        []struct{ Name string }
	Weir            *struct{ Limit string }
}

// knownKeys are the keys that a file may have, at any level.
var knownKeys = map[string]bool{
	"domain": true, "descriptors": true, "key": true, "value": true, "rate_limit": true, "unit": true,
	"requests_per_unit": true, "unlimited": true, "name": true, "replaces": true, "shadow_mode": true, "quota_mode": true,
	"detailed_metric": true, "value_to_metric": true, "share_threshold": true, "metadata": true,
}

// decode reads a file. Its errors have the texts of the service that it replaces, so it
// reads with the library that made them, which also reads scalars as YAML 1.1 does.
func decode(f File, strict bool) (*fileRoot, error) {
	text := []byte(f.Text)
	if err := yaml.Unmarshal(text, &map[any]any{}); err != nil {
		return nil, f.refuse("error loading config file: %s", err)
	}
	var keys yaml.MapSlice // in the order of the file, so that the first mistake is reported
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return nil, f.refuse("error loading config file: %s", err)
	}
	if err := f.checkKeys(keys, strict); err != nil {
		return nil, err
	}
	var root fileRoot
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, f.refuse("error loading config file: %s", err)
	}
	return &root, nil
}

func (f File) checkKeys(items yaml.MapSlice, strict bool) error {
	for _, item := range items {
		key, is := item.Key.(string)
		if !is {
			return f.refuse("config error, key is not of type string: %v", item.Key)
		}
		if key == "weir" && !strict {
			if err := f.checkWeir(item.Value); err != nil {
				return err
			}
			continue
		}
		if !knownKeys[key] {
			return f.refuse("config error, unknown key '%s'", key)
		}
		if key == "metadata" {
			continue // of any form
		}
		if err := f.checkValue(item.Value, strict); err != nil {
			return err
		}
	}
	return nil
}

func (f File) checkValue(value any, strict bool) error {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			items, is := element.(yaml.MapSlice)
			if !is {
				return f.refuse("config error, yaml file contains list of type other than map: %v", element)
			}
			if err := f.checkKeys(items, strict); err != nil {
				return err
			}
		}
		return nil
	case yaml.MapSlice:
		return f.checkKeys(value, strict)
	case nil, string, int, bool:
		return nil
	}
	return f.refuse("error checking config")
}

// checkWeir checks the keys of the extension.
func (f File) checkWeir(value any) error {
	items, is := value.(yaml.MapSlice)
	if !is || len(items) != 1 || items[0].Key != "limit" {
		return f.refuse(`weir must have one key: {limit: "ALGORITHM:LIMIT/PERIOD"}`)
	}
	return nil
}

// metadataOf returns metadata as it is sent.
func metadataOf(values map[string]any) (*structpb.Struct, error) {
	if len(values) == 0 {
		return nil, nil
	}
	plain, err := plain(values)
	if err != nil {
		return nil, err
	}
	return structpb.NewStruct(plain.(map[string]any))
}

// plain gives every map keys of type string. Numbers that JSON does not have are an error:
// no answer could show them.
func plain(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		return plainMap(value, func(key string) string { return key })
	case map[any]any:
		return plainMap(value, func(key any) string { return fmt.Sprint(key) })
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			var err error
			if out[i], err = plain(v); err != nil {
				return nil, err
			}
		}
		return out, nil
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("number %g is not allowed: must be finite", value)
		}
	}
	return value, nil
}

func plainMap[K comparable](from map[K]any, name func(K) string) (any, error) {
	out := make(map[string]any, len(from))
	for key, v := range from {
		var err error
		if out[name(key)], err = plain(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
