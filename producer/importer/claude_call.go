package importer

// usage emits the usage of a model call at the first of its records.
func (im *claudeImport) usage(r *record, call string) error {
	t := r.thread
	synthetic := r.Message.Model == syntheticModel
	if !t.calls.has(hashOf(call)) {
		if err := im.usageFact(r, call, synthetic); err != nil {
			return err
		}
	}
	if !synthetic {
		t.called(&r.origin, shortText(r.Message.Model, 128))
	}
	return nil
}

func (im *claudeImport) usageFact(r *record, call string, synthetic bool) error {
	if r.Message.ID == "" {
		im.problem(r.line, &lineError{ReasonNoMessageID, ""})
	}
	best := im.index.take(r.thread.key.session, call)
	if best == nil {
		best = parseUsage(r.Message, r.line)
	}
	for _, p := range best.problems {
		im.problem(best.line, p)
	}
	c := &modelCall{
		id: call, model: shortText(r.Message.Model, 128), usage: best.buckets, raw: best.raw, stop: best.stop,
		extra: map[string]any{"usage_line": best.line}, noWindow: synthetic,
	}
	if r.RequestID != "" {
		c.extra["request_id"] = shortText(r.RequestID, maxNativeID)
	}
	if synthetic {
		c.extra["synthetic"] = true
	}
	return im.call(&r.origin, c)
}
