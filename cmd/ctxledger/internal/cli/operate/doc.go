// Package operate has the commands for operators: migrate, rebuild, quarantine, erase, redaction,
// retention, backup, storage, prices, keys, deploy and doctor.
package operate
