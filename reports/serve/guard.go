package serve

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// NewToken returns a token that nobody can guess.
func NewToken() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// tokenLeast is the least length of a token that a user chooses.
const tokenLeast = 16

// CheckToken rejects a token that could be guessed, or that does not fit in an address.
func CheckToken(token string) error {
	switch {
	case len(token) < tokenLeast:
		return fmt.Errorf("the token has %d characters; choose %d or more, such as the output of: openssl rand -hex 16", len(token), tokenLeast)
	case len(token) > 512:
		return errors.New("the token has more than 512 characters")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token has characters that are not printable ASCII, or spaces")
	}
	return nil
}

// IsLoopback reports whether an address, HOST:PORT, can be reached from its own machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// namesOf are the names by which a server at an address may be called, in lower case. For an address that stands for all of the
// machine's, they are all of these, and its host name.
func namesOf(address string) ([]string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	names := []string{strings.ToLower(host)}
	if IsLoopback(address) {
		return append(names, "localhost", "127.0.0.1", "::1"), nil
	}
	if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
		return names, nil
	}
	names = []string{"localhost"}
	if own, err := os.Hostname(); err == nil {
		names = append(names, strings.ToLower(own))
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if network, is := a.(*net.IPNet); is {
			names = append(names, network.IP.String())
		}
	}
	return names, nil
}

// guard answers what may not pass. Every answer has the headers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; "+noFrames)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered")
		case !s.isNamed(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "this server has another name; open the address that pulley serve has printed, or start it with --alias")
		case !sameOrigin(r):
			refuse(w, http.StatusForbidden, "the request comes from another site; open the address yourself")
		case s.token == "":
			next.ServeHTTP(w, r)
		default:
			s.admit(w, r, next)
		}
	})
}

const noFrames = "frame-ancestors 'none'"

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, why) // a client that is closed
}

// isNamed reports whether a request's Host is a name of the server. The port may be another: that of a tunnel.
func (s *Server) isNamed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	return name != "" && slices.Contains(s.names, name)
}

// sameOrigin reports whether a request comes from a page of this server, or from the user: an address that was typed, or a link
// elsewhere that was followed, which shows its reader nothing that another site could read.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// admit lets a browser pass that has the token. The address with the token gives the browser a cookie, and leads to the address without: the
// token stays neither in the history nor in what is shown.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, next http.Handler) {
	query := r.URL.Query()
	if query.Has("token") {
		if !equal(query.Get("token"), s.token) {
			refuse(w, http.StatusUnauthorized, "the token is another; open the address that pulley serve has printed")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: s.cookieName, Value: s.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		query.Del("token")
		to := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		if !strings.HasPrefix(to.Path, "/") || strings.HasPrefix(to.Path, "//") {
			to.Path = "/" // it could name another server
		}
		w.Header().Set("Location", to.String())
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(s.cookieName); err != nil || !equal(c.Value, s.cookie) {
		refuse(w, http.StatusUnauthorized, "this server wants its token; open the address that pulley serve has printed")
		return
	}
	next.ServeHTTP(w, r)
}

// equal takes the same time wherever the texts differ, and however long they are.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// cookieOf is not the token, so that it does not give the token away.
func cookieOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("pulley serve, cookie"))
	return hex.EncodeToString(mac.Sum(nil))
}
