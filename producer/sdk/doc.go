// Package sdk makes the types and tables of the SDKs for other languages from the contract.
//
//	schema.JSONSchema ──▶ TypeScript ──▶ typescript/facts.d.ts
//	                 └──▶ Python ──────▶ python/ctxledger/facts.py
//	schema.Words, record ids ──────────▶ typescript/contract.js, python/ctxledger/contract.py
//
// The SDKs record the same facts as package producer and send them to a gateway over HTTP; see
// package gateway. The same decisions give the same facts in each language. Rules are judged by
// the gateway alone. An SDK counts and reports the events that the gateway refuses.
//
// Adapters for frameworks (typescript/README.md, python/README.md) build on the same helpers.
//
// An SDK's guard masks exact values. Other forms of a value are recognised by the fingerprints
// of the redaction. Planning, which is the ladder, the fitting and the elision, is Go's or the
// host's: Call.select records its outcome. Grants, resources and scratchpads have no helper.
// Their facts are recorded as any fact is.
//
// Write the files again with:
//
//	go generate ./producer/sdk
package sdk

//go:generate go run ./internal/write
