package claudebodies

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// entry is a line of the index.
type entry struct {
	Time      string `json:"timestamp"`
	Session   string `json:"session_id"`
	Message   string `json:"message_id"`
	RequestID string `json:"request_id"`
	Request   string `json:"request_file"`
	Response  string `json:"response_file"`
}

// Read leaves every line to the decoder: an index is small next to its bodies.
func (e *entry) Read(*jsonscan.Cursor) bool { return false }

// check returns a problem if an id is missing or is not valid.
func (e *entry) check() error {
	switch {
	case e.Session == "":
		return model.NewLineError(model.ReasonNoSession, "")
	case e.Message == "":
		return model.NewLineError(model.ReasonBadID, "message_id is missing")
	}
	ids := []model.NativeID{{Member: "session_id", ID: e.Session}, {Member: "message_id", ID: e.Message}, {Member: "request_id", ID: e.RequestID}}
	if refused := model.Refused(ids...); refused != nil {
		return refused
	}
	return nil
}
