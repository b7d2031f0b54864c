package ask

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// content is the content in a fact, with the digest that the producer gave.
type content struct {
	text   string
	isText bool // else it is some other value, whose bytes nobody knows
	digest string
}

// checkContents checks the contents of a window against their digests, and notes the outcome at
// each block. The error is a content without its digest.
func checkContents(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags, w *windowview.Window) error {
	var ids []string
	for _, b := range w.Blocks {
		ids = append(append(ids, b.Items...), b.Assembly)
	}
	places, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: t.Tenant, Session: t.Session, Turn: t.Turn}, 1)
	if err != nil || len(places) == 0 {
		return err
	}
	tenant := places[0].Tenant
	facts, err := read.Of(l).InlineContents(ctx, tenant, t.Session, t.asOf, ids)
	if err != nil || len(facts) == 0 {
		return err
	}
	items, blocks := make(map[string]content), make(map[[2]string]content)
	for _, fact := range facts {
		switch f := fact.(type) {
		case *schema.ItemAdded:
			items[f.ItemID] = contentOf(&f.Item)
		case *schema.ItemUpdated:
			items[f.ItemID] = contentOf(&f.Item)
		case *schema.AssemblyCreated:
			for _, b := range f.OrderedBlocks {
				if b.Content != "" {
					blocks[[2]string{f.AssemblyID, b.Block}] = content{b.Content, true, b.Digest}
				}
			}
		}
	}
	keys, err := cli.KeysOf(a.Flags.Data, tenant)
	if err != nil {
		return err
	}
	var wrong []string
	for i := range w.Blocks {
		b := &w.Blocks[i]
		c, have := blocks[[2]string{b.Assembly, b.Block}]
		if !have && len(b.Items) == 1 {
			c, have = items[b.Items[0]]
		}
		if !have || c.text == "" && c.isText {
			continue
		}
		if b.Content = c.verdict(keys); b.Content == contentDiffers {
			wrong = append(wrong, fmt.Sprint(b.Position))
		}
	}
	if len(wrong) > 0 {
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("the content of %s does not match its digest: position %s", ui.Plural(len(wrong), "block"), strings.Join(wrong, ", ")))
	}
	return nil
}

func contentOf(i *schema.Item) content {
	text, isText := i.Content.(string)
	return content{text, isText || i.Content == nil, i.ContentDigest}
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
