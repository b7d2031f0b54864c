package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// formTypes are the content types that a form, or a script of another site, can send without
// a question to this server.
var formTypes = []string{"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}

// options are the parameters of a request.
type options struct{ all, dryRun bool }

// guard checks a request with events before its body is read.
func (h *Handler) guard(r *http.Request) (tenant string, o options, p *Problem) {
	if p := checkMethod(r, http.MethodPost); p != nil {
		return "", o, p
	}
	if p := checkContentType(r.Header); p != nil {
		return "", o, p
	}
	o, p = readOptions(r.URL.RawQuery)
	if p != nil {
		return "", o, p
	}
	tenant, p = h.tenantOf(r)
	return tenant, o, p
}

// admit checks a request without a body.
func (h *Handler) admit(r *http.Request, method string) (tenant string, p *Problem) {
	if p := checkMethod(r, method); p != nil {
		return "", p
	}
	return h.tenantOf(r)
}

func checkMethod(r *http.Request, method string) *Problem {
	if r.Method == method {
		return nil
	}
	p := problem(http.StatusMethodNotAllowed, "method", "the method is "+schema.Clip(r.Method), "send "+method)
	p.allow = method
	return p
}

// tenantOf returns the tenant of a request.
func (h *Handler) tenantOf(r *http.Request) (string, *Problem) {
	if h.config.Tenant == nil {
		return schema.DefaultTenant, nil
	}
	switch tenant, err := h.config.Tenant(r); {
	case errors.Is(err, ErrForbidden):
		return "", problem(http.StatusForbidden, "forbidden", ErrForbidden.Error(), "use a token with the role publish")
	case err != nil:
		return "", problem(http.StatusUnauthorized, "unauthenticated", ErrUnauthenticated.Error(), "send a token of this installation in the Authorization header")
	default:
		return schema.TenantOf(tenant), nil
	}
}

func checkContentType(header http.Header) *Problem {
	const fix = "send application/cloudevents+json, application/cloudevents-batch+json, or the data with ce- headers and application/json"
	types := header.Values("Content-Type")
	switch {
	case len(types) == 0:
		return problem(http.StatusUnsupportedMediaType, "content_type", "the request has no Content-Type", fix)
	case len(types) > 1:
		return problem(http.StatusBadRequest, "content_type", "the request has several Content-Type headers", "send one")
	}
	media := mediaType(types[0])
	switch {
	case slices.Contains(formTypes, media):
		return problem(http.StatusUnsupportedMediaType, "content_type", "the Content-Type is "+media, fix)
	case media == structuredType, media == batchType:
		return nil
	case strings.HasPrefix(media, "application/cloudevents"):
		return problem(http.StatusUnsupportedMediaType, "content_type", "the Content-Type is "+schema.Clip(media)+", a format other than JSON", fix)
	case header.Get("Ce-Specversion") == "":
		return problem(http.StatusUnsupportedMediaType, "content_type", "the Content-Type is "+schema.Clip(media)+", without a ce-specversion header", fix)
	}
	return nil
}

// mediaType returns a content type in lower case, without its parameters.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// readOptions reads the query string. An unknown parameter is refused: a misspelt dry_run
// would store the events.
func readOptions(query string) (o options, p *Problem) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, problem(http.StatusBadRequest, "parameter", "the query string is malformed", "send ?dry_run or ?all, or nothing")
	}
	for name, given := range values {
		var at *bool
		switch name {
		case "all":
			at = &o.all
		case "dry_run":
			at = &o.dryRun
		default:
			return o, problem(http.StatusBadRequest, "parameter", "the parameter "+schema.Clip(name)+" is unknown", "send ?dry_run or ?all, or nothing")
		}
		switch given[len(given)-1] {
		case "", "1", "true":
			*at = true
		case "0", "false":
		default:
			return o, problem(http.StatusBadRequest, "parameter", "the parameter "+name+" has another value than true or false", "send true or false, or the name alone")
		}
	}
	return o, nil
}
