package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"pulley/reports/record"
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
		sum := sha256.Sum256(f.Data)
		if derived(files, f) {
			out = append(out, embedded{f.Name, hex.EncodeToString(sum[:]), "", len(f.Data)})
			continue
		}
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
		if len(found[3]) == 0 {
			data, err = samplesOf(manifestOf(out, name))
		}
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

// derived reports that a file has the samples of a manifest before it, a line each, and nothing else: [Extract] makes it of them.
func derived(files []File, f File) bool {
	made, err := samplesOf(manifestOf(files[:slices.IndexFunc(files, func(other File) bool { return other.Name == f.Name })], f.Name))
	return err == nil && bytes.Equal(made, f.Data)
}

// manifestOf returns the manifest in the same folder as a file of samples; nil if the name is another.
func manifestOf(files []File, samples string) []byte {
	folder, is := strings.CutSuffix(samples, record.SamplesFile)
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == folder+record.ManifestFile })
	if !is || i < 0 {
		return nil
	}
	return files[i].Data
}

// samplesOf returns a samples.ndjson of a manifest.json. It takes them as they are written, whatever fields a version has.
func samplesOf(manifest []byte) ([]byte, error) {
	var m struct {
		Schema  json.RawMessage   `json:"schema"`
		Samples []json.RawMessage `json:"samples"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("it has no content, and no manifest.json to make it of: %w", err)
	}
	var out bytes.Buffer
	for _, s := range m.Samples {
		fmt.Fprintf(&out, `{"schema":%s,`, m.Schema)
		begin := out.Len()
		if err := json.Compact(&out, s); err != nil {
			return nil, err
		}
		copy(out.Bytes()[begin:], out.Bytes()[begin+1:]) // its brace
		out.Truncate(out.Len() - 1)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
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
