package api_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var update = flag.Bool("update", false, "write the generated code and the golden files anew")

const (
	protoRoot = "proto"
	protoFile = "weir/v1/ratelimiter.proto"
	module    = "github.com/weirgo/weir/api"
)

// compiled is the .proto file and what it imports, each behind its imports.
func compiled(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{protoRoot}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(t.Context(), protoFile)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if slices.ContainsFunc(set.File, func(d *descriptorpb.FileDescriptorProto) bool { return d.GetName() == f.Path() }) {
			return
		}
		imports := f.Imports()
		for i := range imports.Len() {
			add(imports.Get(i).FileDescriptor)
		}
		set.File = append(set.File, protoutil.ProtoFromFileDescriptor(f))
	}
	add(files[0])
	return set
}

// TestGeneratedCodeIsCurrent runs the plugins that buf.gen.yaml names, on the .proto file as
// a compiler in Go reads it: so it needs no buf. TestBuf compares with buf, where it is.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	set := compiled(t)
	got := map[string][]byte{}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		maps.Copy(got, generated(t, plugin, set))
	}
	if len(got) != 2 {
		t.Fatalf("%d files were generated, want 2", len(got))
	}
	for name, code := range got {
		if *update {
			if err := os.WriteFile(name, code, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(name); err != nil {
			t.Error(err)
		} else if !bytes.Equal(have, code) {
			t.Errorf("%s is not what %s generates: go test . -run TestGeneratedCodeIsCurrent -update", name, protoFile)
		}
	}
	have, err := filepath.Glob("weirv1/*.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(have) != len(got) {
		t.Errorf("weirv1 has %q, of which only %d are generated: delete the others", have, len(got))
	}
}

// generated is what a plugin makes of the .proto file, by the name of the file.
func generated(t *testing.T, plugin string, set *descriptorpb.FileDescriptorSet) map[string][]byte {
	t.Helper()
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate:        []string{protoFile},
		Parameter:             proto.String("module=" + module),
		ProtoFile:             set.File,
		SourceFileDescriptors: set.File[len(set.File)-1:],
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", plugin)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdin = bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", plugin, err, stderr.String())
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		t.Fatal(err)
	}
	if response.Error != nil {
		t.Fatalf("%s: %s", plugin, response.GetError())
	}
	files := map[string][]byte{}
	for _, f := range response.File {
		files[f.GetName()] = []byte(f.GetContent())
	}
	return files
}
