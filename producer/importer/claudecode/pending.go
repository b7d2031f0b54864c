package claudecode

import (
	"bytes"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/canonical"
)

// pending is the end of a thread: the last answer and the user's records since. The client writes
// one record per part of an answer, and sends the parts of an answer as one message. It sends
// consecutive records of the user as one message, too.
type pending struct {
	answerID string
	answer   run
	user     run
}

// run is a message that consecutive records make up. Its text is held until the message ends.
type run struct {
	role    string
	records []recordParts
	closed  int // number of records whose messages are known
}

// recordParts are the parts of one record.
type recordParts struct {
	raw    [][]byte
	blocks []*model.Block
}

// maxRun is the most records that can be one message.
const maxRun = 256

// remember keeps the parts of a record until the next request of its thread. pieces are the
// pieces of the record, with the items of the same index.
func (all *requests) remember(r *record, pieces []model.Piece, items []held) {
	for i := range items {
		if p := &pieces[i]; p.Text != nil && items[i].item != "" {
			all.texts[model.HashOf(*p.Text)] = items[i]
		}
	}
	p := all.pending[r.Thread.Key]
	if p == nil {
		p = new(pending)
		all.pending[r.Thread.Key] = p
	}
	to, role := &p.user, "user" // also the role of a queued prompt
	if r.Type == "assistant" {
		if to, role = &p.answer, r.Type; r.Message.ID != p.answerID {
			all.close(p)
			*p = pending{answerID: r.Message.ID}
		}
	}
	to.role = role
	if len(to.records) < maxRun {
		to.records = append(to.records, all.partsOf(r, role, pieces, items))
	}
}

func heldBy(item *schema.ItemAdded) held {
	h := held{item: item.ItemID, tokens: -1, estimator: item.Estimator}
	if item.TokenEstimate != nil {
		h.tokens = *item.TokenEstimate
	}
	return h
}

// partsOf reads the parts of a record as parts of a request.
func (all *requests) partsOf(r *record, role string, pieces []model.Piece, items []held) (parts recordParts) {
	content := bytes.Clone(r.Message.Content)
	if len(content) == 0 {
		return parts
	}
	for i, read := range readRequest(nil, nil, messageText(role, [][]byte{content}, false)) {
		b, err := all.block(&read)
		if err != nil {
			continue
		}
		at := itemOf(pieces, i)
		if at >= 0 && items[at].item != "" {
			b.Item, b.Tokens, b.Estimator = items[at].item, items[at].tokens, items[at].estimator
		}
		if known := all.parts[b.Sum]; known != nil && known.Item == b.Item && known.Layer == b.Layer && known.Role == b.Role {
			b = known
		} else if known == nil {
			all.parts[b.Sum] = b
		}
		parts.raw = append(parts.raw, read.Raw)
		parts.blocks = append(parts.blocks, b)
	}
	return parts
}

// itemOf returns the index of the piece that the block of the index i became, -1 if there is none.
func itemOf(pieces []model.Piece, i int) int {
	for at := range pieces {
		if name := pieces[at].Name; len(name) == 2 && name[0] == model.Itoa(i) && name[1] == "0" {
			return at
		}
	}
	return -1
}

// messageText returns a message in JSON. parts are the parts of its content, or one whole content.
func messageText(role string, parts [][]byte, list bool) []byte {
	text := append([]byte(`{"role":"`), role...)
	text = append(text, `","content":`...)
	if list {
		text = append(text, '[')
	}
	text = append(text, bytes.Join(parts, []byte{','})...)
	if list {
		text = append(text, ']')
	}
	return append(text, '}')
}

// close makes the messages of the thread's end known by their digests: the answer, each record of
// the user, and each run of them from the first.
func (all *requests) close(p *pending) {
	if n := len(p.answer.records); n > p.answer.closed {
		p.answer.closed = n
		all.known(&p.answer, p.answer.records)
	}
	for u := &p.user; u.closed < len(u.records); u.closed++ {
		all.known(u, u.records[:u.closed+1])
		if u.closed > 0 {
			all.known(u, u.records[u.closed:u.closed+1])
		}
	}
}

// known keeps the message that the records make up.
func (all *requests) known(of *run, records []recordParts) {
	m := &message{logged: true, answer: of.role == "assistant"}
	var raw [][]byte
	for _, r := range records {
		raw = append(raw, r.raw...)
		m.blocks = append(m.blocks, r.blocks...)
	}
	if name, err := canonical.Sum(messageText(of.role, raw, true)); err == nil && all.messages[name] == nil {
		all.messages[name] = m
	}
}
