package cli

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// Choices is how many sessions a person is given to choose from.
const Choices = 20

// Place is a session in which something occurs that was asked for.
type Place struct{ Tenant, Session string }

// Choose asks a person at a terminal which of several sessions is meant, and returns its
// index. The first of places are offered, as many as there are choices; whoever asks the
// ledger for one more than that need not count the rest. Where there is no terminal, the
// choices are printed and the error names the flags that tell.
func (a *App) Choose(what string, places []Place, flags string) (int, error) {
	shown := places[:min(Choices, len(places))]
	number := strconv.Itoa(len(places))
	if len(places) > Choices {
		number = fmt.Sprintf("more than %d", Choices)
	}
	fmt.Fprintf(a.Err, "%s occurs in %s sessions:\n", what, number)
	for i, p := range shown {
		fmt.Fprintf(a.Err, "  %d  %s\n", i+1, strings.TrimSpace(p.Session+"  "+p.Tenant))
	}
	if len(places) > Choices {
		fmt.Fprintln(a.Err, "  and older ones")
	}
	if !IsTerminal(a.In) {
		return 0, UsageError("say which with %s", flags)
	}
	fmt.Fprint(a.Err, "which one? ")
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(shown) {
		return 0, UsageError("want a number from 1 to %d", len(shown))
	}
	return n - 1, nil
}
