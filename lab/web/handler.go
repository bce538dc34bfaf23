package web

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// types are the media types of the site's files, by the end of their names.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8", ".gz": "application/gzip", ".LICENSE": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
}

// ServeHTTP hands out the files. It answers only requests that were sent to this computer
// under a name of its loopback address, so a foreign page cannot reach it through a name
// that it has pointed here, and only those that come from the site's own pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !loopback(r.Host) {
		http.Error(w, "ftracelab serves only loopback addresses, not "+http.StatusText(http.StatusMisdirectedRequest), http.StatusMisdirectedRequest)
		return
	}
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || u.Host != r.Host {
			http.Error(w, "a page of another origin has asked", http.StatusForbidden)
			return
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		http.Error(w, "a page of another site has asked", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "files can only be read", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	text, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if t := types[path.Ext(name)]; t != "" {
		h.Set("Content-Type", t)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // a client that has gone needs no answer
	}
}

// loopback reports whether the host of a request is a name of the loopback address.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
