package embedded_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// The main function of a program. In a test, package embeddedtest does the rest.
func ExampleStart() {
	embedded.Main() // first statement, also in TestMain

	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	config := embedded.DefaultConfig(dir)
	config.NoClickHouse = true // this example must not download the engine
	config.Progress = embedded.ProgressTo(os.Stderr)
	servers, err := embedded.Start(context.Background(), config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer servers.Close()
	fmt.Println(strings.HasPrefix(servers.NATSURL(), "nats://ctxledger:"))
	// Output: true
}
