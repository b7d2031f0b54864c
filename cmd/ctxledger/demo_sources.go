package main

import "embed"

// sources are the files that the demo's agent reads: this program's own.
//
//go:embed *.go internal
var sources embed.FS
