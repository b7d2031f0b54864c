package packs

import "github.com/ctxledger/ctxledger/ledger/evidence/pack"

// uploadLimits bound what an uploaded pack may hold. A larger one is for the command.
func uploadLimits() *pack.Limits {
	l := pack.DefaultLimits()
	l.FileSize, l.TotalSize = 512<<20, 1<<30
	return &l
}
