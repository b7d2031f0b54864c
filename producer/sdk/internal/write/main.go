// Command write writes the generated files of the SDKs. It runs in the folder producer/sdk.
package main

import (
	"fmt"
	"os"

	"github.com/ctxledger/ctxledger/producer/sdk"
)

func main() {
	for path, text := range sdk.Files() {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
