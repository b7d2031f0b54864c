// Package browsertest drives a real browser in tests. The browser and the accessibility checker
// axe-core come from npm, pinned by their digests, into the user's cache:
//
//	CACHE/browser/VERSION/  chromium, its libraries and fonts, axe.min.js
//
// CACHE is CTXLEDGER_CACHE, or ctxledger in the user's cache folder. The browser runs only with
// CI=true or CTXLEDGER_BROWSER=1, on Linux; elsewhere a test that wants one is skipped.
package browsertest
