package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"
)

// embedded is a file as a page has it.
type embedded struct {
	Name, SHA256 string
	Base64       template.HTML
	Size         int
}

func embed64(files []File) ([]embedded, error) {
	var out []embedded
	for _, f := range files {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(f.Data); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(f.Data)
		out = append(out, embedded{f.Name, hex.EncodeToString(sum[:]), template.HTML(base64.StdEncoding.EncodeToString(packed.Bytes())), len(f.Data)})
	}
	return out, nil
}

var embeddedFile = regexp.MustCompile(`<script type="application/gzip" data-name="([^"]*)" data-sha256="([0-9a-f]{64})" data-size="[0-9]+">([A-Za-z0-9+/=]*)</script>`)

// extractMost bounds an unpacked file: a page may be hostile.
const extractMost = 1 << 30

// Extract returns the files of the record that a page was made from, byte for byte. It fails if a file is not what the page says
// that it is, or has a name that is not a plain file name.
func Extract(pageHTML []byte) ([]File, error) {
	var out []File
	for _, found := range embeddedFile.FindAllSubmatch(pageHTML, -1) {
		name := html.UnescapeString(string(found[1]))
		data, err := unpack(string(found[3]))
		if err != nil {
			return nil, fmt.Errorf("file %q of the page: %w", name, err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(found[2]) {
			return nil, fmt.Errorf("file %q of the page is damaged: its checksum is another", name)
		}
		if !plainName(name) {
			return nil, fmt.Errorf("file %q of the page has no plain file name", name)
		}
		out = append(out, File{name, data})
	}
	if len(out) == 0 {
		return nil, errors.New("the page carries no record: no pulley report wrote it, or it was changed")
	}
	return out, nil
}

// plainName admits names in one folder below the record's own.
func plainName(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.HasPrefix(part, ".") || strings.ContainsAny(part, "\\\x00:") {
			return false
		}
	}
	return true
}

func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, extractMost+1))
	if err != nil {
		return nil, err
	}
	if len(data) > extractMost {
		return nil, fmt.Errorf("it has more than %d bytes", extractMost)
	}
	return data, nil
}
