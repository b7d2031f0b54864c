// Package contract has the commands that show the contract of events and check programs
// against it: schema, conformance and version.
package contract
