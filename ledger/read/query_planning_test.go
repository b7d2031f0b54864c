package read

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestReadersPlanAsTheLedgerDoes: the profile of the readers has the same settings that the ledger
// sends with each query.
func TestReadersPlanAsTheLedgerDoes(t *testing.T) {
	t.Parallel()
	profiles, err := os.ReadFile("../../deploy/clickhouse/users.d/ctxledger.xml")
	if err != nil {
		t.Fatal(err)
	}
	_, reader, _ := strings.Cut(string(profiles), "<reader>")
	reader, _, _ = strings.Cut(reader, "</reader>")
	for name, value := range planning {
		if setting := fmt.Sprintf("<%s>%v</%s>", name, value, name); !strings.Contains(reader, setting) {
			t.Errorf("the profile of the readers lacks %s", setting)
		}
	}
}
