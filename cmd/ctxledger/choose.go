package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// choices is how many sessions a person is given to choose from.
const choices = 20

// place is a session in which something occurs that was asked for.
type place struct{ tenant, session string }

// choose asks a person at a terminal which of several sessions is meant, and returns its
// index. The first of places are offered, as many as there are choices; whoever asks the
// ledger for one more than that need not count the rest. Where there is no terminal, the
// choices are printed and the error names the flags that tell.
func (a *app) choose(what string, places []place, flags string) (int, error) {
	shown := places[:min(choices, len(places))]
	number := strconv.Itoa(len(places))
	if len(places) > choices {
		number = fmt.Sprintf("more than %d", choices)
	}
	fmt.Fprintf(a.err, "%s occurs in %s sessions:\n", what, number)
	for i, p := range shown {
		fmt.Fprintf(a.err, "  %d  %s\n", i+1, strings.TrimSpace(p.session+"  "+p.tenant))
	}
	if len(places) > choices {
		fmt.Fprintln(a.err, "  and older ones")
	}
	if !isTerminal(a.in) {
		return 0, usageError("say which with %s", flags)
	}
	fmt.Fprint(a.err, "which one? ")
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(shown) {
		return 0, usageError("want a number from 1 to %d", len(shown))
	}
	return n - 1, nil
}
