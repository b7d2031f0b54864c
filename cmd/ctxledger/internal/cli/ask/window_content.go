package ask

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storedtext"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"
)

// content is the content in a fact, with the digest that the producer gave.
type content struct {
	text   string // as JSON if it is no text
	isText bool
	digest string
	ref    schema.Ref // of a text that is not in the fact
	lack   string     // why that text was not read
}

// contents are the contents that the ledger has of the blocks and items of a window.
type contents struct {
	tenant string
	blocks map[[2]string]content // by assembly and block
	items  map[string][]content  // the versions of an item, in the order of the stream
}

// readContents reads the contents of a window, as the ledger knew them at the time of --as-of.
func readContents(ctx context.Context, l *ledger.Ledger, t TurnFlags, w windowview.Window) (contents, error) {
	found := contents{blocks: make(map[[2]string]content), items: make(map[string][]content)}
	var ids []string
	for _, b := range w.Blocks {
		ids = append(append(ids, b.Items...), b.Assembly)
	}
	places, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: t.Tenant, Session: t.Session, Turn: t.Turn}, 1)
	if err != nil || len(places) == 0 {
		return found, err
	}
	found.tenant = places[0].Tenant
	facts, err := read.Of(l).Contents(ctx, found.tenant, t.Session, t.asOf, ids)
	for _, fact := range facts {
		switch f := fact.(type) {
		case *schema.ItemAdded:
			found.items[f.ItemID] = append(found.items[f.ItemID], contentOf(&f.Item))
		case *schema.ItemUpdated:
			found.items[f.ItemID] = append(found.items[f.ItemID], contentOf(&f.Item))
		case *schema.AssemblyCreated:
			for _, b := range f.OrderedBlocks {
				if b.Content != "" {
					found.blocks[[2]string{f.AssemblyID, b.Block}] = content{text: b.Content, isText: true, digest: b.Digest}
				}
			}
		}
	}
	return found, err
}

// of returns the contents of a block: its own, or those of its items, with an empty one for an item
// without content. If the block has the digest of a version of its item, that version is returned, and
// otherwise the last one.
func (c contents) of(b windowview.Block) (list []content, own bool) {
	if of, ok := c.blocks[[2]string{b.Assembly, b.Block}]; ok {
		return []content{of}, true
	}
	for _, item := range b.Items {
		of := content{isText: true}
		for _, version := range c.items[item] {
			if b.Digest == "" || of.digest != b.Digest {
				of = version
			}
		}
		list = append(list, of)
	}
	return list, false
}

// fetch reads the texts of the window's blocks that are not in the facts. shards are those of a cluster.
func (c contents) fetch(ctx context.Context, a *cli.App, l *ledger.Ledger, shards []*ledger.Ledger, w windowview.Window) error {
	r := storedtext.Reader{Connect: func() (jetstream.JetStream, error) { return a.ConnectNATS() }, Keys: cli.KeysIn(a.Flags.Data), Shards: shards}
	textOf := r.Several(ctx, l, c.tenant)
	read := make(map[schema.Ref]content)
	for _, b := range w.Blocks {
		list, own := c.of(b)
		for i, of := range list {
			if own || of.ref == "" {
				continue
			}
			if _, known := read[of.ref]; !known {
				text, err := textOf(of.ref)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					of.lack = err.Error()
				}
				of.text = text
				read[of.ref] = of
			}
			for j, version := range c.items[b.Items[i]] {
				if got := read[version.ref]; version.ref != "" && version.ref == of.ref {
					c.items[b.Items[i]][j].text, c.items[b.Items[i]][j].lack = got.text, got.lack
				}
			}
		}
	}
	return nil
}

// addTexts puts the stored texts into the blocks of a window.
func (c contents) addTexts(w *windowview.Window) {
	for i := range w.Blocks {
		b := &w.Blocks[i]
		list, own := c.of(*b)
		var texts []string
		for _, of := range list {
			if of.text != "" {
				texts = append(texts, of.text)
			}
			b.TextLack = cmp.Or(b.TextLack, of.lack)
		}
		if b.Text = strings.Join(texts, "\n\n"); b.Text == "" {
			continue
		}
		b.TextOf = windowview.TextOfItem
		if own {
			b.TextOf = windowview.TextOfBlock
		}
	}
}

// check checks the contents of a window against their digests, and notes the outcome at each block.
// The error is a content without its digest.
func (c contents) check(a *cli.App, w *windowview.Window) error {
	keys, err := cli.KeysOf(a.Flags.Data, c.tenant)
	if err != nil {
		return err
	}
	var wrong []string
	for i := range w.Blocks {
		b := &w.Blocks[i]
		list, _ := c.of(*b)
		if len(list) != 1 || list[0].text == "" {
			continue
		}
		if b.Content = list[0].verdict(keys); b.Content == contentDiffers {
			wrong = append(wrong, fmt.Sprint(b.Position))
		}
	}
	if len(wrong) > 0 {
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("the content of %s does not match its digest: position %s", ui.Plural(len(wrong), "block"), strings.Join(wrong, ", ")))
	}
	return nil
}

func contentOf(i *schema.Item) content {
	if i.ContentRef.TextDigest() != "" && i.Content == nil {
		return content{isText: true, digest: i.ContentDigest, ref: i.ContentRef}
	}
	if text, isText := i.Content.(string); isText || i.Content == nil {
		return content{text: text, isText: true, digest: i.ContentDigest}
	}
	text, _ := json.Marshal(i.Content, json.Deterministic(true)) // a decoded value can be encoded
	return content{text: string(text), digest: i.ContentDigest}
}

// The outcomes of the check of a content.
const (
	contentMatches = "content matches its digest"
	contentDiffers = "content does not match its digest"
)

// verdict compares the content with its digest, if the key is known.
func (c content) verdict(keys []schema.Key) string {
	form, rest, _ := strings.Cut(c.digest, ":")
	switch {
	case c.digest == "":
		return "content without a digest"
	case !c.isText:
		return "content not checked: it is no text"
	case form == "sha256":
		sum := sha256.Sum256([]byte(c.text))
		return matches(hex.EncodeToString(sum[:]), rest)
	case form != "hmac-sha256":
		return "content not checked: its digest is of a form that is not known"
	}
	id, _, _ := strings.Cut(rest, ":")
	for _, key := range keys {
		if key.ID == id {
			return matches(key.Digest([]byte(c.text)), c.digest)
		}
	}
	return fmt.Sprintf("content not checked: the key %s of its digest is not in the data folder", ui.Shorten(id, 20))
}

func matches(got, want string) string {
	if hmac.Equal([]byte(got), []byte(want)) {
		return contentMatches
	}
	return contentDiffers
}
