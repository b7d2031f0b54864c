package site

import "net/url"

// hrefOf returns the address of an id. The session is left out for a session itself.
func hrefOf(kind, id, tenant, session string) string {
	q := url.Values{}
	if tenant != "" {
		q.Set("tenant", tenant)
	}
	if session != "" && kind != "session" {
		q.Set("session", session)
	}
	letter := map[string]string{"session": "s", "turn": "t", "call": "c", "item": "i"}[kind]
	if letter == "" { // a run, a task, an attempt or a thread: its session
		letter, id = "s", session
		q.Del("session")
	}
	return with("/"+letter+"/"+url.PathEscape(id), q)
}

// callHref returns the address of a call of a session. The turn is part of it, because ids of
// calls may repeat in other turns.
func callHref(tenant, session, turn, call string) string {
	q := url.Values{"session": {session}, "turn": {turn}}
	if tenant != "" {
		q.Set("tenant", tenant)
	}
	return with("/c/"+url.PathEscape(call), q)
}

func with(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
