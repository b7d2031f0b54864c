package access

import (
	"sync"
	"time"
)

// Rate limits requests of one client.
type Rate struct {
	PerSecond float64 // in the long run
	Burst     float64 // at once
}

// buckets hold the room that each client has left. Safe for concurrent use.
type buckets struct {
	rate Rate

	mu   sync.Mutex // guards room
	room map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// mostClients limits the memory of buckets. Full buckets are forgotten first.
const mostClients = 10_000

// take takes one request from a client's room.
func (b *buckets) take(client string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.room == nil {
		b.room = make(map[string]bucket)
	}
	if _, known := b.room[client]; !known && len(b.room) >= mostClients {
		b.forget(now)
	}
	mine := b.filled(client, now)
	if mine.left < 1 {
		return false
	}
	mine.left--
	b.room[client] = mine
	return true
}

// filled returns a client's bucket as it is now.
func (b *buckets) filled(client string, now time.Time) bucket {
	mine, known := b.room[client]
	if !known {
		return bucket{b.rate.Burst, now}
	}
	mine.left = min(b.rate.Burst, mine.left+now.Sub(mine.at).Seconds()*b.rate.PerSecond)
	mine.at = now
	return mine
}

// forget removes the clients whose bucket is full. If there are none, it removes all clients.
func (b *buckets) forget(now time.Time) {
	for client := range b.room {
		if b.filled(client, now).left >= b.rate.Burst {
			delete(b.room, client)
		}
	}
	if len(b.room) >= mostClients {
		clear(b.room)
	}
}
