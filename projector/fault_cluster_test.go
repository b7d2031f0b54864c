package projector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A clusterRig is a rig on three NATS servers that keep three replicas, and three projectors in
// separate processes.
type clusterRig struct {
	*rig
	cluster    *embeddedtest.Cluster
	projectors []*kept
}

func newClusterRig(t *testing.T) *clusterRig {
	t.Helper()
	needsServers(t)
	cluster := embeddedtest.NewCluster(t, 3, nil)
	if _, err := streamio.Ensure(t.Context(), cluster.JetStream(), streamio.Layout{Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, cluster.URL(), migrated.ClickHouse(t))
	f.rich = true
	f.through = &addresses{cluster.URL(), f.servers.ClickHouseDSN()}
	r := &clusterRig{rig: &rig{fixture: f}, cluster: cluster}
	for i := range 3 {
		r.projectors = append(r.projectors, r.keep(fmt.Sprint("owner-", i)))
	}
	return r
}

// kept is a projector in a process that is started again when it ends, as a service manager does.
// Safe for concurrent use.
type kept struct {
	mu      sync.Mutex
	cmd     *exec.Cmd
	stopped bool
	ended   chan struct{}
}

// keep starts a projector and starts it again until stop is called.
func (r *clusterRig) keep(owner string) *kept {
	r.t.Helper()
	k := &kept{ended: make(chan struct{})}
	go func() {
		defer close(k.ended)
		for k.start(r.child(childFollow+"=1", childOwner+"="+owner)) {
			_ = k.cmd.Wait()
			time.Sleep(50 * time.Millisecond)
		}
	}()
	r.t.Cleanup(k.stop)
	return k
}

func (k *kept) start(cmd *exec.Cmd) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped || cmd.Start() != nil {
		return false
	}
	k.cmd = cmd
	return true
}

// kill kills the process with kill -9.
func (k *kept) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cmd != nil && k.cmd.Process != nil {
		_ = k.cmd.Process.Kill()
	}
}

// stop kills the process for the last time.
func (k *kept) stop() {
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.kill()
	<-k.ended
}

// leader returns the node that leads the stream of events, or nil if there is none.
func (r *clusterRig) leader() *embeddedtest.Node {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	stream, err := r.js.Stream(ctx, schema.EventStream)
	if err != nil || stream.CachedInfo().Cluster == nil {
		return nil
	}
	for _, n := range r.cluster.Nodes {
		if n.Name == stream.CachedInfo().Cluster.Leader {
			return n
		}
	}
	return nil
}

// disturb kills something, and starts it again after a random time.
func (r *clusterRig) disturb(round int, random *rand.Rand) {
	r.t.Helper()
	nodes := r.cluster.Nodes
	var down []*embeddedtest.Node
	switch round % 4 {
	case 0:
		down = append(down, nodes[random.IntN(len(nodes))])
	case 1:
		if n := r.leader(); n != nil {
			down = append(down, n)
		}
	case 2:
		r.projectors[random.IntN(len(r.projectors))].kill()
	case 3:
		whole := random.IntN(len(nodes))
		for i, n := range nodes {
			if i != whole {
				down = append(down, n)
			}
		}
	}
	for _, n := range down {
		n.Kill()
	}
	time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
	for _, n := range down {
		n.Start()
	}
}

// clusterKilled kills one server, the leader, a projector and most servers, one after the other,
// under load.
func clusterKilled(t *testing.T) {
	random := seeded(t)
	r := newClusterRig(t)
	load := r.publishing(0)
	kills := times(8, 60)
	for round := range kills {
		before := load.stored.Load()
		r.disturb(round, random)
		if round%2 == 0 || round%8 == 7 { // otherwise the next kill comes while the replicas catch up
			r.await("the stream accepts messages", func() bool { return load.stored.Load() > before+20 })
		}
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
	}
	load.stop()
	r.await("all replicas have all messages", func() bool {
		list, err := streamio.ReadReplicas(t.Context(), r.js)
		for _, s := range list {
			if !s.Healthy() {
				return false
			}
		}
		return err == nil
	})
	r.awaitLevel()
	for _, p := range r.projectors {
		p.stop()
	}
	t.Logf("killed %d times; %d acknowledged, %d tried again", kills, len(r.acknowledged), load.retries)
	if len(r.acknowledged) < kills {
		t.Error("hardly anything was published")
	}
	r.epochsInOrder()
	r.faultless()
}

// TestReplicasBehindFire: the alert of replicas fires while a server of the cluster is away, and ends when it
// has the messages again.
func TestReplicasBehindFire(t *testing.T) {
	t.Parallel()
	needsServers(t)
	cluster := embeddedtest.NewCluster(t, 3, nil)
	if _, err := streamio.Ensure(t.Context(), cluster.JetStream(), streamio.Layout{Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, cluster.URL(), migrated.ClickHouse(t))
	p, read := f.measured()
	f.follow(p)
	r := ruleOf(t, "CtxledgerReplicasBehind", registryOf(p))
	f.await("all replicas are known", func() bool { n, known := read("replicas_behind"); return known && n == 0 })
	if r.fires() {
		t.Error("the alert fires before the fault")
	}
	cluster.Nodes[2].Kill()
	f.await("the alert fires", r.fires)
	cluster.Nodes[2].Start()
	f.await("the alert ends", func() bool { return !r.fires() })
	f.await("the health is good", func() bool { return p.Health().State == Projecting })
}
