package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A row is one labelled text.
type row struct {
	id, label, text string
	fields          map[string]string // what else the row says of itself, and "file"
}

// caseFiles lists the files to read: dir itself if it is a file, those in its folders
// screen and secrets, or, where neither has any, its own.
func caseFiles(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{dir}, nil
	}
	files := append(jsonlIn(filepath.Join(dir, "screen")), jsonlIn(filepath.Join(dir, "secrets"))...)
	if len(files) == 0 {
		files = jsonlIn(dir)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no .jsonl file in it, nor in its folders screen and secrets", dir)
	}
	return files, nil
}

// jsonlIn lists the .jsonl files of a folder by name; a folder that can not be read
// has none. (filepath.Glob would read brackets in the folder's name as a pattern.)
func jsonlIn(dir string) (files []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == ".jsonl" {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

func readCases(dir string) ([]row, error) {
	files, err := caseFiles(dir)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			r, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			r.fields["file"] = filepath.Base(name)
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: the files hold no case", dir)
	}
	return rows, nil
}

// labels are the four things that a text can be.
var labels = []string{"attack", "benign", "clean", "secret"}

// payloads are the categories that aim at a memory itself. Their rows are also
// counted together.
var payloads = []string{"memory_directive", "recommendation_poison", "bridging_minja"}

// parseRow decodes one line. Its errors do not quote the text.
func parseRow(line []byte) (row, error) {
	var raw map[string]any
	if err := json.Unmarshal(line, &raw); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return row{}, fmt.Errorf("not JSON at byte %d", syntax.Offset)
		}
		return row{}, errors.New("not a JSON object")
	}
	r := row{fields: map[string]string{}}
	for name, v := range raw {
		if s, ok := v.(string); ok {
			r.fields[name] = s
		}
	}
	r.id, r.label, r.text = r.fields["id"], r.fields["label"], r.fields["text"]
	if coded := r.fields["text_b64"]; coded != "" {
		if r.text != "" {
			return row{}, errors.New("both text and text_b64")
		}
		text, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			return row{}, errors.New("text_b64 is not standard base64")
		}
		r.text = string(text)
	}
	delete(r.fields, "text")
	delete(r.fields, "text_b64")
	if slices.Contains(payloads, r.fields["category"]) {
		r.fields["group"] = "memory payloads"
	}
	switch {
	case r.id == "":
		return row{}, errors.New("no id")
	case r.text == "":
		return row{}, errors.New("no text, nor text_b64")
	case !slices.Contains(labels, r.label):
		return row{}, fmt.Errorf("label %.20q is none of %s", r.label, strings.Join(labels, ", "))
	}
	return r, nil
}
