// Package operate has the commands of whoever looks after a ledger: migrate, rebuild,
// quarantine, erase, prices, keys, deploy and doctor.
package operate
