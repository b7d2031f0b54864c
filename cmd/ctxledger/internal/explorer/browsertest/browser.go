package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is one tab of a browser of the test's own.
type Browser struct {
	tab context.Context
	axe string

	mu    sync.Mutex // guards the next two
	said  []string   // console messages, exceptions and dialogs of the current page
	asked []string   // addresses that the current page requested
}

// Start starts a browser until the end of the test. Without CI=true or CTXLEDGER_BROWSER=1 the
// test is skipped.
func Start(t *testing.T) *Browser {
	t.Helper()
	if os.Getenv("CI") != "true" && os.Getenv("CTXLEDGER_BROWSER") != "1" {
		t.Skip("a browser runs in CI, or with CTXLEDGER_BROWSER=1")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		if os.Getenv("CI") == "true" {
			t.Fatal("the pinned browser is for Linux on amd64")
		}
		t.Skip("the pinned browser is for Linux on amd64")
	}
	dir, err := fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(dir, "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(filepath.Join(dir, "chromium")),
		chromedp.Flag("headless", "shell"), chromedp.Flag("no-zygote", true), chromedp.Flag("in-process-gpu", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Env("LD_LIBRARY_PATH="+filepath.Join(dir, "lib")+":"+dir, "FONTCONFIG_FILE="+filepath.Join(dir, "fonts.conf")))
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	tab, cancel := context.WithTimeout(tab, 10*time.Minute)
	t.Cleanup(cancel)
	b := &Browser{tab: tab, axe: string(axe)}
	for _, err := range []error{
		chromedp.Do(tab, chromedp.Navigate("about:blank")),
		chromedp.Listen(tab, b.hear),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// Tab opens one more tab of the browser at an address. It listens to no messages.
func (b *Browser) Tab(t *testing.T, address string) *Browser {
	t.Helper()
	tab, closeTab := chromedp.NewContext(b.tab)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return &Browser{tab: tab, axe: b.axe}
}

// Show tells the current page that it became visible, or hidden. A browser without a screen does not.
func (b *Browser) Show(t *testing.T, visible bool) {
	t.Helper()
	Eval[bool](t, b, fmt.Sprintf(`Object.defineProperty(document, 'hidden', {value: %t, configurable: true}), document.dispatchEvent(new Event('visibilitychange'))`, !visible))
}

func (b *Browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprintf("console %s", e.Type))
	case *cdpruntime.EventExceptionThrown:
		b.said = append(b.said, "exception "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.said = append(b.said, "log "+e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		b.said = append(b.said, "dialog "+e.Message)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

// View is how a page is looked at.
type View struct {
	Width, Height int64
	Scheme        string // light or dark
}

// Visit opens a page and reports what is wrong with it in each of the views: messages, requests to
// another place than from, violations of WCAG 2.2 AA that axe-core finds, and a page wider than the
// screen. The page loads once, in the first view.
func (b *Browser) Visit(t *testing.T, address, from string, views ...View) {
	t.Helper()
	b.mu.Lock()
	b.said, b.asked = nil, nil
	b.mu.Unlock()
	for i, v := range views {
		where := fmt.Sprintf("%s at %d, %s", address, v.Width, v.Scheme)
		features := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.Scheme}}}
		if _, err := chromedp.Call(b.tab, emulation.SetEmulatedMedia, features); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(b.tab, chromedp.EmulateViewport(v.Width, v.Height)); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := chromedp.Do(b.tab, chromedp.Navigate(address)); err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			if _, err := chromedp.Run(b.tab, chromedp.Evaluate[bool](b.axe+";true")); err != nil {
				t.Fatalf("%s: %v", where, err)
			}
		}
		found, err := chromedp.Run(b.tab, chromedp.Evaluate[string](runAxe, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if found != "" {
			t.Errorf("%s is not accessible:\n%s", where, found)
		}
		if wide := Eval[bool](t, b, `document.documentElement.scrollWidth > innerWidth`); wide {
			t.Errorf("%s is wider than the screen", where)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("%s says %v", address, b.said)
	}
	for _, asked := range b.asked {
		if !strings.HasPrefix(asked, from) && !strings.HasPrefix(asked, "data:") { // the browser's own icons are data
			t.Errorf("%s requests %.200s", address, asked)
		}
	}
}

// runAxe checks the current page, into which axe-core was put, and lists the violations.
const runAxe = `axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}, resultTypes: ['violations']}).then(
	(r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' (' + (n.any[0] || n.all[0] || n.none[0] || {message: ''}).message + ')').join(' | ')).join('\n'))`

// Eval returns the value of an expression in the current page.
func Eval[T any](t *testing.T, b *Browser, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b.tab, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Press sends a key to the current page.
func (b *Browser) Press(t *testing.T, key string) {
	t.Helper()
	if err := chromedp.Do(b.tab, chromedp.KeyEvent(key)); err != nil {
		t.Fatal(err)
	}
}

// Walk goes through the current page by the Tab key alone, and opens what a key opens. It reports what
// a mouse reaches and the keyboard does not, and an element that does not show that it has the focus.
// A part of a drawing that is hidden from assistive software does not count: a table says the same.
func (b *Browser) Walk(t *testing.T, address string) {
	t.Helper()
	for _, fault := range b.walk(t) {
		t.Errorf("%s: %s", address, fault)
	}
}

// walk returns what [Browser.Walk] reports.
func (b *Browser) walk(t *testing.T) (faults []string) {
	t.Helper()
	Eval[bool](t, b, `document.activeElement.blur(), getSelection().removeAllRanges(), window.walked = new Set(), window.last = null, true`)
	for range 5000 {
		b.Press(t, "\t")
		switch focused := Eval[string](t, b, walkStep); focused {
		case "end":
			if missed := Eval[string](t, b, walkMissed); missed != "" {
				faults = append(faults, "the Tab key does not reach\n"+missed)
			}
			return faults
		case "closed":
			b.Press(t, "\r")
		case "":
		default:
			faults = append(faults, "nothing shows that the focus is on "+focused)
		}
	}
	return append(faults, "the Tab key does not come to an end")
}

// walkStep says where the focus is: at the end of the page, on something closed, or on an element
// without a visible sign.
const walkStep = `(() => {
	const at = document.activeElement
	if (at === window.last) return '' // the parts of a date
	window.last = at
	if (at === document.body || at === null || window.walked.has(at)) return 'end'
	window.walked.add(at)
	const style = getComputedStyle(at)
	if (style.outlineStyle === 'none' || style.outlineWidth === '0px' || style.outlineColor === 'rgba(0, 0, 0, 0)') return at.outerHTML.slice(0, 120)
	return at.tagName === 'SUMMARY' && !at.parentElement.open ? 'closed' : ''
})()`

const walkMissed = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]')]
	.filter((e) => e.checkVisibility() && !e.disabled && !e.closest('[aria-hidden=true]') && !window.walked.has(e)).map((e) => e.outerHTML.slice(0, 120)).join('\n')`

// Screenshot returns the current page as PNG.
func (b *Browser) Screenshot(t *testing.T) []byte {
	t.Helper()
	png, err := chromedp.Run(b.tab, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	return png
}

// Drag presses the mouse on one element of the current page, and releases it on another.
func (b *Browser) Drag(t *testing.T, from, to string) {
	t.Helper()
	at := func(selector string) (x, y float64) {
		place := Eval[[]float64](t, b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector))
		return place[0], place[1]
	}
	fromX, fromY := at(from)
	toX, toY := at(to)
	for _, e := range []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMouseMoved, X: fromX, Y: fromY},
		{Type: input.DispatchMouseEventTypeMousePressed, X: fromX, Y: fromY, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: (fromX + toX) / 2, Y: (fromY + toY) / 2, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: toX, Y: toY, Button: input.MouseButtonLeft, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseReleased, X: toX, Y: toY, Button: input.MouseButtonLeft, ClickCount: 1},
	} {
		if _, err := chromedp.Call(b.tab, input.DispatchMouseEvent, e); err != nil {
			t.Fatal(err)
		}
	}
}

// Until waits until an expression in the current page is true.
func (b *Browser) Until(t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(b.tab, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		t.Errorf("%s does not become true: %v", expression, err)
	}
}

// Await waits until the browser is at an address.
func (b *Browser) Await(t *testing.T, address string) {
	t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		// A navigation ends the wait with an error; the next one is on the new page.
		if _, err = chromedp.Run(b.tab, chromedp.Poll[bool](fmt.Sprintf("location.href === %q", address), chromedp.WithPollingTimeout(20*time.Second))); err == nil {
			return
		}
	}
	t.Errorf("the browser is not at %s: %v", address, err)
}
