// Package packs has the commands that export evidence packs and verify them.
package packs
