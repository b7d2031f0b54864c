package streamio

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// fact publishes a message of a tenant, and returns the stream that took it, or "".
func fact(t *testing.T, js jetstream.JetStream, tenant, bucket string, size int) string {
	t.Helper()
	subject := schema.Subject{Tenant: tenant, Runtime: "r", Bucket: bucket, Object: "item", Verb: "added"}.String()
	ack, err := js.Publish(t.Context(), subject, make([]byte, size), jetstream.WithRetryAttempts(0))
	if err != nil {
		return ""
	}
	return ack.Stream
}

func subjects(t *testing.T, js jetstream.JetStream, name string) []string {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().Config.Subjects
}

func TestTenantWithStreamsOfItsOwn(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "umbrella", "acme"} {
		if at := fact(t, js, tenant, "p00", 1); at != "CTX" {
			t.Fatal(tenant, at)
		}
	}
	acme := TenantLayout{Tenant: "acme", Partitions: 2, MaxBytes: 64 << 20, Known: []string{"known"}}
	for name, bad := range map[string]TenantLayout{
		"a size without streams":   {Tenant: "acme", MaxBytes: 1 << 30},
		"no power of two":          {Tenant: "acme", Partitions: 3},
		"too many":                 {Tenant: "acme", Partitions: 512},
		"too small":                {Tenant: "acme", Partitions: 4, MaxBytes: 8 << 20},
		"more than the server has": {Tenant: "acme", Partitions: 2, MaxBytes: 1 << 60},
		"a name with a point":      {Tenant: "a.b", Partitions: 1},
		"no name":                  {Partitions: 1},
	} {
		if done, err := EnsureTenant(t.Context(), js, bad); !errors.Is(err, ErrTenant) || len(done) > 0 {
			t.Errorf("%s: %v %v", name, done, err)
		}
	}
	if list, err := ReadStreams(t.Context(), js); err != nil || !slices.Equal(StreamNames(list), []string{"CTX"}) || !slices.Equal(subjects(t, js, "CTX"), []string{schema.AllSubjects}) {
		t.Fatal("a refusal has changed something:", list, err)
	}
	done, err := EnsureTenant(t.Context(), js, acme)
	if err != nil || len(done) != 3 || !strings.Contains(done[0], "default, known, umbrella") {
		t.Fatal(done, err)
	}
	if list, err := ReadStreams(t.Context(), js); err != nil || !slices.Equal(StreamNames(list), []string{"CTX", "CTX_0-acme", "CTX_1-acme"}) || list[1].Tenant != "acme" {
		t.Error(list, err)
	}
	if n, err := ReadPartitions(t.Context(), js); err != nil || n != 1 {
		t.Error(n, err)
	}
	for _, tt := range []struct{ tenant, bucket, want string }{
		{"acme", "p00", "CTX_0-acme"}, {"acme", "pff", "CTX_1-acme"}, {"umbrella", "p00", "CTX"}, {"known", "pff", "CTX"}, {"default", "p00", "CTX"}, {"new", "p00", ""},
	} {
		if at := fact(t, js, tt.tenant, tt.bucket, 1); at != tt.want {
			t.Errorf("%s %s is in %q, want %q", tt.tenant, tt.bucket, at, tt.want)
		}
	}
	if done, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "new"}); err != nil || len(done) != 1 || fact(t, js, "new", "p00", 1) != "CTX" {
		t.Error(done, err)
	}
	for _, same := range []TenantLayout{acme, {Tenant: "acme"}, {Tenant: "new"}, {Tenant: "umbrella"}} {
		if done, err := EnsureTenant(t.Context(), js, same); err != nil || len(done) > 0 {
			t.Errorf("%+v again: %v %v", same, done, err)
		}
	}
	if created, err := EnsureStreams(t.Context(), js); err != nil || len(created) > 0 {
		t.Error(created, err)
	}
	if _, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "acme", Partitions: 4}); !errors.Is(err, ErrPartitions) {
		t.Error(err)
	}
	for range 20 {
		fact(t, js, "acme", "p00", 1<<20-1000)
	}
	if done, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "acme", MaxBytes: 32 << 20}); !errors.Is(err, ErrTenant) || len(done) > 0 {
		t.Error("below what is there:", done, err)
	}
	if done, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "acme", MaxBytes: 128 << 20}); err != nil || len(done) != 2 {
		t.Error(done, err)
	}
	// The last tenant leaves: the shared stream stays, and takes the next one.
	for _, tenant := range []string{"umbrella", "known", "new", "default"} {
		if _, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: tenant, Partitions: 1}); err != nil || fact(t, js, tenant, "p00", 1) != "CTX-"+tenant {
			t.Error(tenant, err)
		}
	}
	if created, err := EnsureStreams(t.Context(), js); err != nil || len(created) > 0 {
		t.Error(created, err)
	}
	if _, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "next"}); err != nil || fact(t, js, "next", "p00", 1) != "CTX" {
		t.Error(err)
	}
}

// An interruption leaves streams that are not open. The next call of Ensure opens them, and nobody reads
// them before.
func TestInterruptedMoveOfATenant(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprint("left ", left), func(t *testing.T) {
			t.Parallel()
			js := emptyServer(t)
			if _, err := Ensure(t.Context(), js, Layout{Partitions: 2}); err != nil {
				t.Fatal(err)
			}
			fact(t, js, "umbrella", "pff", 1)
			l, err := readLayout(t.Context(), js)
			if err != nil {
				t.Fatal(err)
			}
			e := ensure{js: js, replicas: 1}
			if err := e.closeNew(t.Context(), l, TenantLayout{Tenant: "acme", Partitions: 1, Known: []string{"known"}}); err != nil {
				t.Fatal(err)
			}
			if left {
				if err := e.leave(t.Context(), l, "acme", "ctx.v1.known.>"); err != nil {
					t.Fatal(err)
				}
			}
			if at := fact(t, js, "acme", "p00", 1); (at == "") != left {
				t.Errorf("a fact is in %q", at)
			}
			if list, err := ReadStreams(t.Context(), js); err != nil || len(list) != 2 {
				t.Error(list, err)
			}
			if done, err := EnsureStreams(t.Context(), js); err != nil || !slices.ContainsFunc(done, func(s string) bool { return strings.HasPrefix(s, "created stream CTX-acme") }) {
				t.Error(done, err)
			}
			for tenant, want := range map[string]string{"acme": "CTX-acme", "known": "CTX_1", "umbrella": "CTX_1", "default": "CTX_1", "other": ""} {
				if at := fact(t, js, tenant, "pff", 1); at != want {
					t.Errorf("%s is in %q, want %q", tenant, at, want)
				}
			}
			// A shared stream that is lost comes back with the tenants of the others.
			if err := js.DeleteStream(t.Context(), "CTX_0"); err != nil {
				t.Fatal(err)
			}
			if done, err := EnsureStreams(t.Context(), js); err != nil || len(done) != 1 || fact(t, js, "known", "p00", 1) != "CTX_0" {
				t.Error(done, err)
			}
		})
	}
}
