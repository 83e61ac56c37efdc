package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// imageFile is the service as it was last accepted: a FileDescriptorSet, which buf
// breaking reads too.
const imageFile = "testdata/weir.v1.binpb"

// TestServiceStaysCompatible compares the service with the image. What a client of the
// image relies on must stay; what is new goes into the image with -update.
func TestServiceStaysCompatible(t *testing.T) {
	set := compiled(t)
	now := fileOf(t, set)
	if text, err := os.ReadFile(imageFile); err == nil {
		was := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal(text, was); err != nil {
			t.Fatal(err)
		}
		if breaks := breaking(fileOf(t, was), now); len(breaks) > 0 {
			t.Fatalf("the change breaks clients:\n%s", strings.Join(breaks, "\n"))
		}
	} else if !*update {
		t.Fatal(err)
	}
	for _, f := range set.File {
		f.SourceCodeInfo = nil // comments may change
	}
	image, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(imageFile, image, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(imageFile)
	if err != nil {
		t.Fatal(err)
	}
	was := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, was); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(was, set) {
		t.Errorf("the service has something new that %s lacks: go test . -run TestServiceStaysCompatible -update", imageFile)
	}
	if got := protodesc.ToFileDescriptorProto(weirv1.File_weir_v1_ratelimiter_proto); !proto.Equal(got, set.File[len(set.File)-1]) {
		t.Error("the generated code is of another .proto file")
	}
}

func fileOf(t *testing.T, set *descriptorpb.FileDescriptorSet) protoreflect.FileDescriptor {
	t.Helper()
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.FindFileByPath(protoFile)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// breaking lists what clients and servers of was rely on, on the wire, in JSON and in Go,
// that now has not.
func breaking(was, now protoreflect.FileDescriptor) (breaks []string) {
	changed := func(name protoreflect.FullName, what string, was, now any) {
		if was != now {
			breaks = append(breaks, fmt.Sprintf("%s: %s was %v and is %v", name, what, was, now))
		}
	}
	gone := func(name protoreflect.FullName) { breaks = append(breaks, fmt.Sprintf("%s is gone", name)) }
	changed(was.FullName(), "package", was.Package(), now.Package())
	changed(was.FullName(), "go_package", was.Options().(*descriptorpb.FileOptions).GetGoPackage(), now.Options().(*descriptorpb.FileOptions).GetGoPackage())

	for i := range was.Services().Len() {
		service := was.Services().Get(i)
		other := now.Services().ByName(service.Name())
		if other == nil {
			gone(service.FullName())
			continue
		}
		for j := range service.Methods().Len() {
			m := service.Methods().Get(j)
			o := other.Methods().ByName(m.Name())
			if o == nil {
				gone(m.FullName())
				continue
			}
			changed(m.FullName(), "request", m.Input().FullName(), o.Input().FullName())
			changed(m.FullName(), "response", m.Output().FullName(), o.Output().FullName())
			changed(m.FullName(), "client stream", m.IsStreamingClient(), o.IsStreamingClient())
			changed(m.FullName(), "server stream", m.IsStreamingServer(), o.IsStreamingServer())
		}
	}
	for i := range was.Messages().Len() {
		m := was.Messages().Get(i)
		o := now.Messages().ByName(m.Name())
		if o == nil {
			gone(m.FullName())
			continue
		}
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			of := o.Fields().ByNumber(f.Number())
			if of == nil {
				gone(f.FullName())
				continue
			}
			changed(f.FullName(), "name", f.Name(), of.Name())
			changed(f.FullName(), "name in JSON", f.JSONName(), of.JSONName())
			changed(f.FullName(), "type", typeOf(f), typeOf(of))
			changed(f.FullName(), "cardinality", f.Cardinality(), of.Cardinality())
			changed(f.FullName(), "presence", f.HasPresence(), of.HasPresence())
			changed(f.FullName(), "oneof", oneofOf(f), oneofOf(of))
		}
		for j := range m.ReservedRanges().Len() {
			r := m.ReservedRanges().Get(j)
			for n := r[0]; n < r[1]; n++ {
				changed(m.FullName(), fmt.Sprintf("reservation of field %d", n), true, o.ReservedRanges().Has(n))
			}
		}
	}
	for i := range was.Enums().Len() {
		e := was.Enums().Get(i)
		o := now.Enums().ByName(e.Name())
		if o == nil {
			gone(e.FullName())
			continue
		}
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			if ov := o.Values().ByNumber(v.Number()); ov == nil {
				gone(v.FullName())
			} else {
				changed(v.FullName(), "name", v.Name(), ov.Name())
			}
		}
	}
	return breaks
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map<%s, %s>", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() != nil:
		return string(f.Enum().FullName())
	}
	return f.Kind().String()
}

func oneofOf(f protoreflect.FieldDescriptor) protoreflect.Name {
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return o.Name()
	}
	return ""
}

// TestBreakingChangesAreFound makes one change of each kind to the service and expects
// that it is found; a change that breaks nobody is not.
func TestBreakingChangesAreFound(t *testing.T) {
	message := func(set *descriptorpb.FileDescriptorSet, name string) *descriptorpb.DescriptorProto {
		for _, m := range set.File[len(set.File)-1].MessageType {
			if m.GetName() == name {
				return m
			}
		}
		t.Fatalf("no message %s", name)
		return nil
	}
	file := func(set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorProto {
		return set.File[len(set.File)-1]
	}
	type change = func(set *descriptorpb.FileDescriptorSet)
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"no change": {func(*descriptorpb.FileDescriptorSet) {}, ""},
		"new field": {func(set *descriptorpb.FileDescriptorSet) {
			m := message(set, "AllowRequest")
			m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("new"), JsonName: proto.String("new"), Number: proto.Int32(3),
				Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()})
		}, ""},
		"field gone": {func(set *descriptorpb.FileDescriptorSet) { m := message(set, "AllowRequest"); m.Field = m.Field[:1] }, "weir.v1.AllowRequest.key is gone"},
		"field renumbered": {func(set *descriptorpb.FileDescriptorSet) {
			message(set, "AllowRequest").Field[1].Number = proto.Int32(7)
		}, "weir.v1.AllowRequest.key is gone"},
		"field renamed": {func(set *descriptorpb.FileDescriptorSet) {
			message(set, "AllowRequest").Field[1].Name = proto.String("id")
		}, "weir.v1.AllowRequest.key: name was key and is id"},
		"other type": {func(set *descriptorpb.FileDescriptorSet) {
			message(set, "AllowRequest").Field[1].Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		}, "weir.v1.AllowRequest.key: type was string and is bytes"},
		"other cardinality": {func(set *descriptorpb.FileDescriptorSet) {
			message(set, "AllowRequest").Field[1].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}, "weir.v1.AllowRequest.key: cardinality was optional and is repeated"},
		"other message": {func(set *descriptorpb.FileDescriptorSet) {
			message(set, "ReserveResponse").Field[1].TypeName = proto.String(".weir.v1.CheckResponse")
		}, "weir.v1.ReserveResponse.decision: type was weir.v1.AllowResponse and is weir.v1.CheckResponse"},
		"presence gone": {func(set *descriptorpb.FileDescriptorSet) {
			m := message(set, "CheckRequest")
			m.OneofDecl = nil
			for _, f := range m.Field {
				f.OneofIndex, f.Proto3Optional = nil, nil
			}
		}, "weir.v1.CheckRequest.cost: presence was true and is false"},
		"out of its oneof": {func(set *descriptorpb.FileDescriptorSet) {
			m := message(set, "ResetRequest")
			m.OneofDecl = nil
			for _, f := range m.Field {
				f.OneofIndex = nil
			}
		}, "weir.v1.ResetRequest.limit: oneof was target and is "},
		"reservation gone": {func(set *descriptorpb.FileDescriptorSet) { message(set, "Subject").ReservedRange = nil }, "weir.v1.Subject: reservation of field 4 was true and is false"},
		"value gone":       {func(set *descriptorpb.FileDescriptorSet) { e := file(set).EnumType[0]; e.Value = e.Value[:2] }, "weir.v1.IP is gone"},
		"value renamed": {func(set *descriptorpb.FileDescriptorSet) {
			file(set).EnumType[0].Value[1].Name = proto.String("PERSON")
		}, "weir.v1.USER: name was USER and is PERSON"},
		"method gone": {func(set *descriptorpb.FileDescriptorSet) { s := file(set).Service[0]; s.Method = s.Method[1:] }, "weir.v1.RateLimiter.CheckRateLimit is gone"},
		"other response": {func(set *descriptorpb.FileDescriptorSet) {
			file(set).Service[0].Method[0].OutputType = proto.String(".weir.v1.QuotaResponse")
		}, "weir.v1.RateLimiter.CheckRateLimit: response was weir.v1.CheckResponse and is weir.v1.QuotaResponse"},
		"stream": {func(set *descriptorpb.FileDescriptorSet) {
			file(set).Service[0].Method[0].ServerStreaming = proto.Bool(true)
		}, "weir.v1.RateLimiter.CheckRateLimit: server stream was false and is true"},
		"service renamed": {func(set *descriptorpb.FileDescriptorSet) { file(set).Service[0].Name = proto.String("Limiter") }, "weir.v1.RateLimiter is gone"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			was := compiled(t)
			now := proto.CloneOf(was)
			test.change(now)
			breaks := strings.Join(breaking(fileOf(t, was), fileOf(t, now)), "\n")
			if got, _, _ := strings.Cut(breaks, "\n"); got != test.want {
				t.Errorf("found %q, want %q", breaks, test.want)
			}
		})
	}
}
