package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// Usage emits the usage of a model call at the call's first record.
func (im *claudeImport) Usage(r *record, call string) error {
	t := r.Thread
	synthetic := r.Message.Model == syntheticModel
	if !t.Calls.Has(model.HashOf(call)) {
		if err := im.usageFact(r, call, synthetic); err != nil {
			return err
		}
	}
	if !synthetic {
		t.Called(&r.Origin, model.ShortText(r.Message.Model, 128))
	}
	return nil
}

// setWindow sets the window of the request that the record answers.
func (im *claudeImport) setWindow(r *record, c *model.ModelCall) {
	if r.RequestRef == "" {
		return
	}
	c.Extra["request_ref"] = r.RequestRef
	if im.requests != nil {
		c.Window = im.requests.window(r)
	}
	if c.Window == nil {
		c.Lacking = []string{string(schema.PartialDigest)}
	}
}

func (im *claudeImport) usageFact(r *record, call string, synthetic bool) error {
	if r.Message.ID == "" {
		im.Problem(r.Line, model.NewLineError(model.ReasonNoMessageID, ""))
	}
	best := im.index.take(r.Thread.Key.Session, call)
	if best == nil {
		best = parseUsage(r.Message, r.Line)
	}
	for _, p := range best.problems {
		im.Problem(best.line, p)
	}
	c := &model.ModelCall{
		ID: call, Model: model.ShortText(r.Message.Model, 128), Usage: best.buckets, Raw: best.raw, Stop: best.stop,
		Extra: map[string]any{"usage_line": best.line}, NoWindow: synthetic,
	}
	if !synthetic {
		c.Provider = r.Message.ID
		im.setWindow(r, c)
	}
	if r.RequestID != "" {
		c.Extra["request_id"] = model.ShortText(r.RequestID, model.MaxNativeID)
	}
	if synthetic {
		c.Extra["synthetic"] = true
	}
	return im.Call(&r.Origin, c)
}
