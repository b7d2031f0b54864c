package publish

import (
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// MaxDocument is the size limit of one event in the JSON format, in bytes. It leaves room for
// the attributes and for escapes around data of the default limit.
const MaxDocument = 8 * schema.MaxEventBytes

// MaxAhead is the time by which an event may be ahead of this machine's clock.
const MaxAhead = time.Hour

// maxHeaderBytes is the size limit of a message's headers. JetStream refuses headers of more
// than 65,535 bytes; a batch and a random message id need some of them.
const maxHeaderBytes = 65_535 - 512

// DocumentTooLarge returns the violation of a document above [MaxDocument].
func DocumentTooLarge() *schema.Violation {
	return &schema.Violation{Code: schema.CodeTooLarge, Found: fmt.Sprintf("an event of more than %d bytes", MaxDocument), Fix: "refer to content instead of holding it"}
}
