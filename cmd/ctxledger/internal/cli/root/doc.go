// Package root is the whole command line: it joins the commands of all groups, and runs one line.
package root
