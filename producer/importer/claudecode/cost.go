package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
)

// cost reads a cost-state record: what the client counted for all calls of the session so far, by
// model. The last record of a session counts.
func (im *claudeImport) cost(line []byte, key model.ThreadKey, number int) error {
	var state struct {
		ModelUsage map[string]struct {
			Input      int64 `json:"inputTokens"`
			Output     int64 `json:"outputTokens"`
			CacheRead  int64 `json:"cacheReadInputTokens"`
			CacheWrite int64 `json:"cacheCreationInputTokens"`
		} `json:"modelUsage"`
	}
	if json.Unmarshal(line, &state, jsonscan.Lenient) != nil {
		im.Problem(number, model.NewLineError(model.ReasonUnexpectedValue, "modelUsage has another form"))
		return nil
	}
	var total model.TokenTotals
	for _, u := range state.ModelUsage {
		total.Add(model.TokenTotals{UncachedInput: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}, 1)
	}
	im.Report.Stated(key.Session, total)
	return nil
}
