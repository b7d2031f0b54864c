// Package sdk makes the types of the SDKs for other languages from the contract's JSON Schemas.
//
//	schema.JSONSchema ──▶ TypeScript ──▶ typescript/facts.d.ts
//
// The SDKs record the same facts as package producer and send them to a gateway over HTTP; see
// package gateway. Rules are judged by the gateway alone. An SDK counts and reports the events
// that the gateway refuses.
//
// Write the files again with:
//
//	go generate ./producer/sdk
package sdk

//go:generate go run ./internal/write
