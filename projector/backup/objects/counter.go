package objects

import (
	"sync"

	"github.com/ctxledger/ctxledger/projector/backup"
)

// counter adds the bytes of finished objects. Safe for concurrent use.
type counter struct {
	told  backup.Progress
	step  string
	total int64

	mu   sync.Mutex
	done int64
}

func (c *counter) add(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done += bytes; c.told != nil {
		c.told(c.step, c.done, c.total)
	}
}
