// Package operate has the commands for operators: migrate, rebuild, quarantine, erase, prices,
// keys, deploy and doctor.
package operate
