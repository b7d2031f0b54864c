package cli

import (
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/producer/secrets"
	"github.com/ctxledger/ctxledger/producer/title"
)

// Titles is the setting of a command that records items: whether their titles hold words of a session.
type Titles struct {
	flag  *pflag.Flag // nil for a command without the flag
	wants bool
}

// Flag adds the flag --titles.
func (t *Titles) Flag(f *pflag.FlagSet) {
	f.BoolVar(&t.wants, "titles", false, "name an item by its tool's argument or its first words, without secrets\n(default: in the ledger of up)")
	t.flag = f.Lookup("titles")
}

// TitleMaker returns what makes the titles, nil where titles must not hold words of a session. Without
// the flag, that is so for every ledger but that of `up`, which nobody else reads.
func (a *App) TitleMaker(t Titles) (*title.Maker, error) {
	if t.flag != nil && t.flag.Changed && !t.wants || (t.flag == nil || !t.flag.Changed) && a.NamesNATS() {
		return nil, nil
	}
	rules, err := secrets.New()
	if err != nil {
		return nil, err
	}
	return &title.Maker{Detector: rules}, nil
}
