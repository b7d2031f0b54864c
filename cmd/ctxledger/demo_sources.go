package main

import "embed"

// sources are the files that the demo's agent reads: this program's own. They are here because
// only files below the folder of a package can be embedded.
//
//go:embed *.go internal
var sources embed.FS
