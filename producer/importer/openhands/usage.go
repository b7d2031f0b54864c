package openhands

// reported returns the totals of a run under neutral names.
func (run *ohRun) reported() map[string]any {
	totals := make(map[string]any)
	if t := run.total; t != nil {
		for name, n := range map[string]*int64{
			"input_tokens": t.Prompt, "cached_input_tokens": t.Read, "cache_write_tokens": t.Written, "output_tokens": t.Completion, "reasoning_tokens": t.Reasoning,
		} {
			if n != nil {
				totals[name] = *n
			}
		}
	}
	if run.cost != nil {
		totals["cost"] = *run.cost
	}
	if calls := run.counts.Len(); calls > 0 {
		totals["calls"] = calls
	}
	return totals
}
