package streamio

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/schema"
)

// awaitReplicas waits until the replicas of all streams are as wanted.
func awaitReplicas(t *testing.T, js jetstream.JetStream, what string, ok func(Replicas) bool) (list []Replicas) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		list, err := ReadReplicas(t.Context(), js)
		if err == nil && len(list) > 0 && !slices.ContainsFunc(list, func(r Replicas) bool { return !ok(r) }) {
			return list
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s: %v %v", what, list, err)
		}
	}
}

// TestReplicas: streams and buckets of a cluster get replicas, lose none, and say which are behind.
func TestReplicas(t *testing.T) {
	t.Parallel()
	c := embeddedtest.NewCluster(t, 3, nil)
	js := c.JetStream()
	for _, n := range []int{-1, 6} {
		if done, err := Ensure(t.Context(), js, Layout{Replicas: n}); !errors.Is(err, ErrReplicas) || len(done) > 0 {
			t.Errorf("%d replicas: %v %v", n, done, err)
		}
	}
	if done, err := Ensure(t.Context(), js, Layout{Replicas: 5}); !errors.Is(err, ErrReplicas) || len(done) > 0 {
		t.Errorf("5 replicas on 3 servers: %v %v", done, err)
	}
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	for _, r := range awaitReplicas(t, js, "healthy", Replicas.Healthy) {
		if !r.Alone() {
			t.Errorf("without a number: %+v", r)
		}
	}
	done, err := Ensure(t.Context(), js, Layout{Replicas: 3})
	if err != nil || !slices.Contains(done, "raised stream CTX to 3 replicas") || !slices.Contains(done, "raised bucket ctxledger_leases to 3 replicas") || len(done) != 8 {
		t.Fatal(done, err)
	}
	awaitReplicas(t, js, "three healthy replicas", func(r Replicas) bool { return r.Healthy() && r.Want == 3 })
	readOften(t, js)
	if done, err := Ensure(t.Context(), js, Layout{Replicas: 1}); !errors.Is(err, ErrReplicas) || len(done) > 0 {
		t.Errorf("fewer replicas: %v %v", done, err)
	}
	// what a later version adds has as many replicas as the rest
	if err := js.DeleteKeyValue(t.Context(), ImportsBucket); err != nil {
		t.Fatal(err)
	}
	if done, err := EnsureStreams(t.Context(), js); err != nil || !slices.Equal(done, []string{"created bucket " + ImportsBucket}) {
		t.Error(done, err)
	}
	if done, err := EnsureTenant(t.Context(), js, TenantLayout{Tenant: "acme", Partitions: 1}); err != nil || len(done) != 2 || fact(t, js, "acme", "p00", 1) != "CTX-acme" {
		t.Error(done, err)
	}
	list := awaitReplicas(t, js, "three healthy replicas again", func(r Replicas) bool { return r.Healthy() && r.Want == 3 })
	if !slices.ContainsFunc(list, func(r Replicas) bool { return r.Stream == "CTX-acme" }) {
		t.Errorf("the stream of the tenant is missing: %v", list)
	}

	c.Nodes[2].Kill()
	awaitReplicas(t, js, "without the third server", func(r Replicas) bool {
		return r.Leader != "" && len(r.Behind) == 1 && strings.Contains(r.String(), "n3")
	})
	c.Nodes[2].Start()
	awaitReplicas(t, js, "healthy with the third server", Replicas.Healthy)
}

// readOften reads the same message through many consumers. One in about 50 is at first unknown to
// the server of the connection.
func readOften(t *testing.T, js jetstream.JetStream) {
	if _, err := js.Publish(t.Context(), "ctx.quarantine.bad_json", []byte("text")); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.QuarantineStream)
	if err != nil {
		t.Fatal(err)
	}
	for range 150 {
		read := 0
		err := Each(t.Context(), stream, Selection{}, func(jetstream.Msg, *jetstream.MsgMetadata) error { read++; return nil })
		if err != nil || read != 1 {
			t.Fatal(read, err)
		}
	}
}

// TestReplicasOfOneServer: a server that is alone has no replicas.
func TestReplicasOfOneServer(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	done, err := Ensure(t.Context(), js, Layout{Replicas: 3})
	if !errors.Is(err, ErrReplicas) || !strings.Contains(err.Error(), "not part of a cluster") || len(done) > 0 {
		t.Fatal(done, err)
	}
	if _, err := Ensure(t.Context(), js, Layout{Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	if done, err := Ensure(t.Context(), js, Layout{Replicas: 3}); !errors.Is(err, ErrReplicas) || len(done) > 0 {
		t.Error(done, err)
	}
	list, err := ReadReplicas(t.Context(), js)
	if err != nil || len(list) != 8 || slices.ContainsFunc(list, func(r Replicas) bool { return !r.Healthy() || r.Alone() || r.Want != 1 }) {
		t.Error(list, err)
	}
}

// TestStreamWithoutLeader: a stream that most servers of its replicas left is without a leader. It does not count as
// missing, although the server's list of streams lacks it.
func TestStreamWithoutLeader(t *testing.T) {
	t.Parallel()
	c := embeddedtest.NewCluster(t, 5, nil)
	js := c.JetStream()
	if _, err := Ensure(t.Context(), js, Layout{Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	awaitReplicas(t, js, "three healthy replicas", func(r Replicas) bool { return r.Healthy() && r.Want == 3 })
	stream, _, err := OpenStream(t.Context(), js, schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	away := []string{stream.CachedInfo().Cluster.Leader, stream.CachedInfo().Cluster.Replicas[0].Name}
	for _, n := range c.Nodes {
		if slices.Contains(away, n.Name) {
			n.Kill()
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := ReadStreams(t.Context(), js); errors.Is(err, ErrNoStream) {
			t.Fatal(err)
		}
		list, err := ReadReplicas(t.Context(), js)
		if err == nil && slices.ContainsFunc(list, func(r Replicas) bool { return r.Stream == schema.EventStream && r.Leader == "" }) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the stream has a leader: %v %v", list, err)
		}
	}
	for _, n := range c.Nodes {
		if slices.Contains(away, n.Name) {
			n.Start()
		}
	}
	awaitReplicas(t, js, "healthy again", Replicas.Healthy)
	if list, err := ReadStreams(t.Context(), js); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}
