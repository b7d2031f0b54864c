package operate

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// checkShards looks at each shard of a cluster, at the map from the streams to the shards, and whether
// each shard follows its streams. js is nil without a connection.
func checkShards(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers) (findings []finding) {
	allWell := true
	for i, l := range shards.All() {
		list, well := checkLedger(ctx, l, fmt.Sprint("shard ", shards.Shards[i].Number))
		list[0].state = fmt.Sprintf("%s, %s", shards.Shards[i], list[0].state)
		findings, allWell = append(findings, list...), allWell && well
	}
	if js == nil || !allWell {
		return findings
	}
	m, err := shardmap.Read(ctx, js)
	if err == nil {
		err = m.Check(ctx, js, shards)
	}
	n, readErr := streamio.ReadPartitions(ctx, js)
	if err == nil {
		err = readErr
	}
	findings = append(findings, finding{"shard map", fmt.Sprintf("%d streams on %d shards of %s", len(m.Shards), len(shards.Shards), shards.Cluster), err})
	if err != nil {
		return findings
	}
	for i, l := range shards.All() {
		streams := []string{} // not nil, which means all
		for partition, s := range n.EventStreams() {
			if m.Shards[partition] == shards.Shards[i].Number {
				streams = append(streams, s.Name)
			}
		}
		f := checkProjector(ctx, js, l, streams)
		if f.err != nil {
			f.err = fmt.Errorf("%s: %w", shards.Shards[i], f.err)
		}
		findings = append(findings, f)
	}
	return findings
}
