package projector

import (
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

// The server has accepted the rows, and the reply is lost: for an insert into a table, and for
// the row of commits.
func replyLostAfterTheCommit(t *testing.T) {
	for _, table := range []string{"events", "log_items", "commits"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.publishMix(0, 25)
			r.project()
			r.publishMix(1000, 15)
			before := r.count("SELECT count() FROM " + table)
			p := r.linkedProjector()
			muted := false
			p.config.Steps = atEach(func(point string) {
				if !muted && (point == pointQuarantined && table != "commits" || point == pointWritten && table == "commits") {
					muted = true
					r.keepReply(table)
				}
			})
			stop := r.follow(p)
			r.await("the table has the rows", func() bool { return r.count("SELECT count() FROM "+table) > before })
			if got := p.Status().Committed; got > 40-15 {
				t.Errorf("it has committed %d without a reply", got)
			}
			r.toLedger.mend()
			r.catchUp()
			r.must(stop())
			r.faultless()
		})
	}
}

// The bucket has accepted a change of the lease entry, and the reply is lost.
func replyOfTheJournalLost(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 25)
	r.project()
	p := r.linkedProjector()
	p.config.Timing.Heartbeat = time.Hour // a heartbeat would wait for its reply and delay the journal
	point := make(chan bool)
	p.config.Steps = atEach(func(at string) {
		if at == pointUnmoved {
			select {
			case point <- true:
				<-point
			default:
			}
		}
	})
	stop := r.follow(p)
	for round := range times(3, 20) {
		r.publishMix(1000*(1+round), 15)
		<-point
		r.toNATS.replies.close()
		point <- true
		r.await("the range is journalled", func() bool {
			kv, err := lease.OpenBucket(t.Context(), r.js)
			r.must(err)
			_, entry, err := lease.ReadEntry(t.Context(), kv, lease.KeyOf(schema.EventStream))
			r.must(err)
			return entry.Pending != nil && entry.Pending.Last > uint64(25+15*round)
		})
		r.toNATS.mend()
		r.catchUp()
	}
	r.must(stop())
	r.faultless()
}

// Every packet is late and small.
func slowLinks(t *testing.T) {
	for _, side := range []string{"NATS", "ClickHouse"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.publishMix(0, 150)
			l := r.toNATS
			if side == "ClickHouse" {
				l = r.toLedger
			}
			_, stop := r.followed()
			l.requests.slow(2*time.Millisecond, 1000)
			l.replies.slow(2*time.Millisecond, 1000)
			r.publishMix(1000, 60)
			r.catchUp()
			r.must(stop())
			r.faultless()
		})
	}
}

// The other end stops answering. Existing and new connections stay open, and no data arrives.
// The projector continues after the link is restored, for NATS with a standby that has taken
// over.
func halfOpenLinks(t *testing.T) {
	for _, side := range []string{"NATS", "ClickHouse"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			l := r.toNATS
			if side == "ClickHouse" {
				l = r.toLedger
			}
			p, stop := r.followed()
			r.publishMix(0, 60)
			r.catchUp()
			for round := range times(1, 5) {
				r.publishMix(1000*(1+round), 100)
				l.freeze()
				if side == "NATS" {
					standby := r.projector()
					standby.config.Owner = "standby"
					r.must(r.run(standby))
				}
				time.Sleep(time.Duration(times(3, 40)) * time.Second)
				l.mend()
				if side == "NATS" {
					r.await("the first has lost its lease", func() bool { return p.Health().State == Stopped })
					p, stop = r.followed()
				}
				r.catchUp()
			}
			r.must(stop())
			r.faultless()
		})
	}
}

// Connections of both sides are reset at random moments, under load.
func resetLinks(t *testing.T) {
	random := seeded(t)
	r := newRig(t)
	p, stop := r.followed()
	load := r.publishing(0)
	resets := times(40, 400)
	for range resets {
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		switch random.IntN(3) {
		case 0:
			r.toNATS.reset()
		case 1:
			r.toLedger.reset()
		case 2:
			r.toNATS.reset()
			r.toLedger.reset()
		}
	}
	load.stop()
	r.catchUp()
	r.must(stop())
	t.Logf("torn %d times; %d acknowledged, %d tried again, %d committed", resets, len(r.acknowledged), load.retries, p.Status().Committed)
	r.faultless()
}
