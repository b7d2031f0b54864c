// Package serve has the commands that run servers: demo, up and project.
package serve
