// Package realclient runs real agent programs in tests, at pinned versions.
//
//	client := realclient.ClaudeCode(t, server.URL)
//	client.Run(t, "-p", "what is the date?", "--output-format", "json")
//	logs := client.Logs(t)
//
// The programs are packages of the npm registry. They are large and one is proprietary, so the
// repository does not hold them and a plain `go test ./...` does not fetch them: all
// functions skip the test unless CI is "true" or CTXLEDGER_CLIENTS is not empty. With -short they always
// skip it. Under CI=true a program that cannot be fetched fails the test, else it skips the test.
//
// The layout is CACHE/clients/NAME-VERSION-PLATFORM/, with the files of the package that the
// program needs. CACHE is CTXLEDGER_CACHE, or ctxledger in the user's cache folder. A fetch
// compares the tarball with the pinned sha512 before it reads the tarball, unpacks into a
// temporary folder and renames the folder. The final name therefore never holds a part of a
// package. One process at a time fetches; the others wait.
//
// [Libraries] are client libraries for Node.js, with a program that lets each of them talk to a
// model. Their versions, and those of all packages that they need, are pinned in
// sdks/package-lock.json, which npm compares with what it fetches.
//
// A client runs with an empty home folder, an empty work folder, no variables but its own, and a
// key that is no key. All of its requests go to the given address.
package realclient
