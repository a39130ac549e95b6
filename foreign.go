package scribe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/strictjson"
)

const (
	maxReadPath  = 4096 // bytes of one path argument: PATH_MAX of Linux
	maxReadPaths = 256  // paths in one call
)

// outsideCheck is what judging a foreign read needs to know of the disk.
type outsideCheck struct {
	room    string                       // absolute directory of the room, with links resolved
	resolve func(string) (string, error) // rootfs.ResolveOutside

	// overlaps compares by identity, so that a bind mount or another spelling of the
	// room counts: rootfs.Dir.Overlaps. Nil: names alone are compared.
	overlaps func(resolved string) bool
}

// aliasCall translates the arguments of a host's tool into those of our memory
// command: "command" and the arguments that the rule maps, present ones only.
// Arguments that the rule calls free are dropped, unknown ones refused (rule
// "alias.args"). Types are for the memory tool to judge.
func aliasCall(r Rule, args map[string]any) (map[string]any, *Finding) {
	required, _ := commandArgs(r.As)
	if required == nil {
		return nil, argsFinding("alias.args", "", "the tool is no alias")
	}
	ours := make(map[string]string, len(r.Args))
	for our, their := range r.Args {
		ours[their] = our
	}
	out := map[string]any{"command": r.As}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		our, ok := ours[name]
		switch {
		case ok:
			out[our] = args[name]
		case !slices.Contains(r.Free, name):
			return nil, argsFinding("alias.args", "", "an argument that the tool does not have")
		}
	}
	for _, our := range required {
		if _, ok := out[our]; !ok {
			return nil, argsFinding("alias.args", r.Args[our], "a required argument is missing")
		}
	}
	return out, nil
}

// checkRead judges a call of a foreign reader; nil allows it. args are strictly
// parsed. sensitive is relpath.Sensitive.
//
// The rules, by what they refuse:
//
//	read.args       an unknown argument, an unexpected type, too many or too long paths,
//	                a control character, a leading dash
//	read.scheme     a URI other than a plain file URI
//	read.traversal  a ".." segment, and spellings that some reader takes for one:
//	                backslashes, percent escapes, braces around a slash or dots
//	read.outside    outside Dirs, before or after links are resolved; "~" and "$"
//	read.room       the room, what is in it, and the directories that contain it
//	read.sensitive  below the directory of Dirs, a segment on the deny-list
//
// Paths outside Dirs are refused as they are written, before the disk is asked, so
// that an answer tells nothing about them.
func checkRead(r Rule, args map[string]any, oc outsideCheck, sensitive func(seg string) (string, bool)) *Finding {
	if r.As != "" || oc.resolve == nil || sensitive == nil || !filepath.IsAbs(oc.room) {
		return readFinding("read.outside", "")
	}
	named := r.named()
	for _, name := range slices.Sorted(maps.Keys(args)) {
		switch {
		case !slices.Contains(named, name):
			return argsFinding("read.args", "", "an argument that the tool does not have")
		case slices.Contains(r.Free, name) && !isScalars(args[name]):
			return argsFinding("read.args", name, "must be a scalar or an array of scalars")
		}
	}
	if len(r.Dirs) == 0 {
		if len(r.Reads) > 0 {
			return readFinding("read.outside", "")
		}
		return nil // it reads nothing by name, and was declared so
	}
	rd := newReading(r.Dirs, oc, sensitive)
	judged := 0
	for _, entry := range r.Reads {
		raws, f := readArgs(entry, args)
		if f != nil {
			return f
		}
		if judged += len(raws); judged > maxReadPaths {
			return argsFinding("read.args", entry, "too many paths")
		}
		for _, raw := range raws {
			if rule := rd.judge(raw.base, raw.name); rule != "" {
				return readFinding(rule, entry)
			}
		}
	}
	if judged > 0 {
		return nil
	}
	for i, dir := range r.Dirs { // nothing named: what it reads by itself
		if i > 0 && len(r.Reads) > 0 {
			break
		}
		if rule := rd.check(filepath.Clean(dir)); rule != "" {
			return readFinding(rule, "")
		}
	}
	return nil
}

// isScalars reports a scalar, or arrays of nothing else.
func isScalars(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return false
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isScalars(e) })
	}
	return true
}

// rawRead is one path as the model wrote it. base is nil when nothing is joined.
type rawRead struct {
	base *string
	name string
}

// readArgs collects the paths of one entry of Reads. A null is an absent argument:
// several APIs send all optional arguments so.
func readArgs(entry string, args map[string]any) (raws []rawRead, f *Finding) {
	baseArg, nameArg := splitRead(entry)
	var base *string
	if baseArg != "" && args[baseArg] != nil {
		s, ok := args[baseArg].(string)
		if !ok {
			return nil, argsFinding("read.args", baseArg, "must be a path")
		}
		base = &s
	}
	switch v := args[nameArg].(type) {
	case nil:
		if base != nil {
			raws = append(raws, rawRead{base, ""})
		}
	case string:
		raws = append(raws, rawRead{base, v})
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, argsFinding("read.args", nameArg, "must be an array of paths")
			}
			raws = append(raws, rawRead{base, s})
		}
		if len(v) == 0 && base != nil {
			raws = append(raws, rawRead{base, ""})
		}
	default:
		return nil, argsFinding("read.args", nameArg, "must be a path or an array of paths")
	}
	return raws, nil
}

// place is an absolute path as segments: as they are, and as keys under which some
// file system takes two names for one.
type place struct{ segs, keys []string }

func newPlace(path string) place {
	var p place
	path = filepath.Clean(path)
	volume := filepath.VolumeName(path)
	if volume != "" {
		p.segs = append(p.segs, strings.ToUpper(volume))
	}
	for seg := range strings.SplitSeq(path[len(volume):], string(filepath.Separator)) {
		if seg != "" {
			p.segs = append(p.segs, seg)
		}
	}
	for _, seg := range p.segs {
		p.keys = append(p.keys, relpath.SegmentKey(seg))
	}
	return p
}

// hasPrefix compares whole segments, so that /ws-evil is not below /ws.
func hasPrefix(path, dir []string) bool {
	return len(path) >= len(dir) && slices.Equal(path[:len(dir)], dir)
}

// reading judges the paths of one call.
type reading struct {
	first     string  // what relative names are taken from
	declared  []place // Dirs as written
	resolved  []place // Dirs on the disk
	room      place
	oc        outsideCheck
	sensitive func(string) (string, bool)
}

func newReading(dirs []string, oc outsideCheck, sensitive func(string) (string, bool)) *reading {
	rd := &reading{first: dirs[0], room: newPlace(oc.room), oc: oc, sensitive: sensitive}
	for _, dir := range dirs {
		rd.declared = append(rd.declared, newPlace(dir))
		// One that cannot be resolved allows nothing.
		if actual, err := oc.resolve(dir); err == nil && filepath.IsAbs(actual) {
			rd.resolved = append(rd.resolved, newPlace(actual))
		}
	}
	return rd
}

// judge gives the rule that one path breaks, or "".
func (rd *reading) judge(base *string, name string) (rule string) {
	name, rule = readName(name)
	if rule != "" {
		return rule
	}
	forms := []string{name}
	if base != nil {
		dir, rule := readName(*base)
		if rule != "" {
			return rule
		}
		joined := filepath.Join(dir, name) // nothing climbs any more, so cleaning is safe
		switch {
		case filepath.VolumeName(name) != "": // never joined
		case filepath.IsAbs(name) || strings.HasPrefix(name, string(filepath.Separator)):
			forms = append(forms, joined) // hosts differ: a join, or the name as it is
		default:
			forms = []string{joined}
		}
	}
	for _, form := range forms {
		if braced(form) { // a join can close what its base opened
			return "read.traversal"
		}
		for _, p := range [...]string{patternPrefix(form), form} {
			abs, ok := rd.absolute(p)
			if !ok {
				return "read.outside"
			}
			if rule := rd.check(abs); rule != "" {
				return rule
			}
		}
	}
	return ""
}

// absolute takes a relative name from the first directory. On Windows a path with a
// root and no drive, or a drive and no root, is neither and has no place.
func (rd *reading) absolute(name string) (path string, ok bool) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), true
	}
	if filepath.VolumeName(name) != "" || strings.HasPrefix(name, string(filepath.Separator)) {
		return "", false
	}
	return filepath.Join(rd.first, name), true
}

// check judges an absolute, clean path as it is written, then as the disk has it.
// An ancestor of the room is refused whatever the tool does with it: it can only be
// a directory, and what is read in a directory may be read below it.
func (rd *reading) check(path string) (rule string) {
	written := newPlace(path)
	if hasPrefix(written.keys, rd.room.keys) {
		return "read.room"
	}
	// Keys suffice here, because the disk is asked before anything is allowed.
	writtenDepth := innermost(written.keys, slices.Concat(rd.declared, rd.resolved), func(p place) []string { return p.keys })
	if writtenDepth < 0 {
		return "read.outside"
	}
	actual, err := rd.oc.resolve(path)
	if err != nil || !filepath.IsAbs(actual) {
		return "read.outside"
	}
	onDisk := newPlace(actual)
	if hasPrefix(onDisk.keys, rd.room.keys) || hasPrefix(rd.room.keys, onDisk.keys) {
		return "read.room"
	}
	if rd.oc.overlaps != nil && rd.oc.overlaps(actual) {
		return "read.room"
	}
	depth := innermost(onDisk.segs, rd.resolved, func(p place) []string { return p.segs })
	if depth < 0 {
		return "read.outside"
	}
	for _, seg := range slices.Concat(written.segs[writtenDepth:], onDisk.segs[depth:]) {
		for _, part := range patternParts(seg) {
			if _, bad := rd.sensitive(part); bad {
				return "read.sensitive"
			}
		}
	}
	return ""
}

// innermost gives the length of the longest of dirs that holds path, in segments;
// -1 when none does. form says which form of a place is compared.
func innermost(path []string, dirs []place, form func(place) []string) int {
	depth := -1
	for _, dir := range dirs {
		if hasPrefix(path, form(dir)) {
			depth = max(depth, len(dir.segs))
		}
	}
	return depth
}

// readName judges a path as text and gives it with the host's separators, and out
// of its file URI.
func readName(name string) (path, rule string) {
	if len(name) > maxReadPath {
		return "", "read.args"
	}
	if scheme, rest, ok := cutScheme(name); ok {
		if name, rule = fileURI(scheme, rest); rule != "" {
			return "", rule
		}
	}
	windows := filepath.Separator == '\\'
	switch {
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return "", "read.args"
	case strings.HasPrefix(name, "-"):
		return "", "read.args" // an option, for tools that run a program (rg --pre)
	case windows && strings.Contains(name[len(filepath.VolumeName(name)):], ":"):
		return "", "read.args" // an alternate data stream
	case !windows && strings.Contains(name, `\`), percentCoded(name), braced(name):
		return "", "read.traversal"
	case strings.HasPrefix(name, "~"), strings.HasPrefix(name, "$"), strings.HasPrefix(name, "%"):
		return "", "read.outside" // a home directory or a variable, for hosts that expand them
	}
	for seg := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		for _, part := range patternParts(seg) {
			if isDots(part) && (part != "." || seg != ".") {
				return "", "read.traversal"
			}
		}
	}
	return filepath.FromSlash(name), ""
}

// isDots reports "." and "..", also with the dots and spaces that Windows trims.
func isDots(seg string) bool {
	return strings.HasPrefix(seg, ".") && strings.Trim(seg, ". ") == ""
}

// cutScheme splits a URI at its scheme (RFC 3986, section 3.1). On Windows one
// letter is a drive.
func cutScheme(name string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(name, ":")
	if !ok || scheme == "" || len(scheme) == 1 && filepath.Separator == '\\' {
		return "", "", false
	}
	for i, c := range []byte(scheme) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || strings.IndexByte("0123456789+-.", c) < 0) {
			return "", "", false
		}
	}
	return scheme, rest, true
}

// fileURI decodes file:///path and file://localhost/path, once and strictly
// (RFC 8089). What is then still encoded is for the caller to refuse.
func fileURI(scheme, rest string) (path, rule string) {
	rest, ok := strings.CutPrefix(rest, "//")
	slash := strings.IndexByte(rest, '/')
	if !strings.EqualFold(scheme, "file") || !ok || slash < 0 || strings.ContainsAny(rest, "?#") {
		return "", "read.scheme"
	}
	if host := rest[:slash]; host != "" && !strings.EqualFold(host, "localhost") {
		return "", "read.scheme"
	}
	lower := strings.ToLower(rest)
	if strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") {
		return "", "read.traversal" // a separator that only some decoders see
	}
	path, err := url.PathUnescape(rest[slash:])
	if err != nil {
		return "", "read.scheme"
	}
	if filepath.Separator == '\\' {
		path = strings.TrimPrefix(path, "/") // file:///C:/x
	}
	return path, ""
}

// percentCoded reports an encoded dot, separator, percent sign or NUL.
func percentCoded(name string) bool {
	for i := 0; i+2 < len(name); i++ {
		if name[i] != '%' {
			continue
		}
		switch strings.ToLower(name[i+1 : i+3]) {
		case "2e", "2f", "5c", "25", "00":
			return true
		}
	}
	return false
}

// braced reports pattern syntax behind which the segments do not show: braces
// around a separator, and the extended globs of shells.
func braced(name string) bool {
	braces := 0
	for i := range len(name) {
		switch name[i] {
		case '{':
			braces++
		case '}':
			braces = max(0, braces-1)
		case '/', '\\':
			if braces > 0 {
				return true
			}
		case '(':
			if i > 0 && strings.IndexByte("?*+@!", name[i-1]) >= 0 {
				return true
			}
		}
	}
	return false
}

// patternPrefix gives the part before the first segment that has a sign of a
// pattern: the directory in which a glob starts, "" for the first of Dirs. A name
// without such a sign is given whole.
func patternPrefix(name string) string {
	i := strings.IndexAny(name, "*?[{")
	if i < 0 {
		return name
	}
	return name[:strings.LastIndexByte(name[:i], filepath.Separator)+1]
}

// patternParts gives the names that a segment may spell, wildcards aside: itself,
// the alternatives of its braces, and what is left without braces and brackets. A
// segment that is one bracket class, such as the [...slug] of web frameworks, spells
// one character and no name.
func patternParts(seg string) []string {
	parts := []string{seg}
	if !strings.ContainsAny(seg, "[]{}") {
		return parts
	}
	inner := strings.Trim(seg, "[]")
	if seg[0] == '[' && seg[len(seg)-1] == ']' && !strings.ContainsAny(inner, "[]{}*?") {
		return parts
	}
	bare := strings.NewReplacer("[", "", "]", "").Replace(seg)
	parts = append(parts, strings.FieldsFunc(bare, func(r rune) bool { return r == '{' || r == '}' || r == ',' })...)
	if whole := strings.NewReplacer("{", "", "}", "").Replace(bare); whole != "" {
		parts = append(parts, whole)
	}
	return parts
}

// readFinding refuses a read. Texts are constants: a path that was refused is not
// repeated. field is an argument as the rule names it.
func readFinding(rule, field string) *Finding {
	f := &Finding{Rule: rule, Outcome: Rejected, Field: field}
	switch rule {
	case "read.room":
		f.Message = "the memory directory, and a directory that contains it, are not read with this tool"
		f.Fix = "use the memory tool for memories; else name something that does not contain their directory"
	case "read.sensitive":
		f.Message = "a reserved or sensitive name in the path"
		f.Fix = "read something else"
	case "read.traversal":
		f.Message = "the path climbs, or hides where it leads"
		f.Fix = "write it plainly, without .., backslashes, escapes or nested patterns"
	case "read.scheme":
		f.Message = "not a plain path or file URI"
		f.Fix = "give a path"
	case "read.args":
		f.Message = "the path is too long, begins with a dash or holds a control character"
		f.Fix = "give a plain path"
	default:
		f.Message = "outside the directories that this tool may read"
		f.Fix = "name a path inside them"
	}
	return f
}

func argsFinding(rule, field, message string) *Finding {
	return &Finding{Rule: rule, Outcome: Rejected, Field: field, Message: message, Fix: "send the arguments that the tool declares"}
}

// schemaProblems compares a rule with the properties of its tool's schema.
func (r Rule) schemaProblems(tool string, schema json.RawMessage) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	props, what := schemaProperties(schema)
	if what != "" {
		return []string{what}
	}
	named := r.named()
	for _, name := range named {
		if _, ok := props[name]; !ok {
			bad("the rule names %.64q, which the schema does not have", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		prop, ok := props[name].(map[string]any)
		free := slices.Contains(r.Free, name)
		switch {
		case !slices.Contains(named, name):
			bad("no rule names the property %.64q", name)
		case r.As != "":
		case !ok:
			bad("property %.64q has no schema", name)
		case holdsObject(prop):
			bad("property %.64q holds objects, whose properties no rule names", name)
		case !free && isPlain(prop):
			bad("property %.64q is in Reads and cannot hold a path", name)
		case free && !isPlain(prop) && isPathArg(tool, name):
			bad("property %.64q names files: it belongs in Reads", name)
		case free && !isPlain(prop) && isCommandArg(name):
			bad("property %.64q carries a command, a patch or an address: no rule can constrain it", name)
		}
	}
	return problems
}

// schemaProperties gives the properties of an object schema that says by itself
// which arguments there are. Keywords are a closed list, because one that is not
// understood can add arguments.
func schemaProperties(schema json.RawMessage) (props map[string]any, problem string) {
	if len(schema) == 0 {
		return nil, "it has no schema, so its arguments cannot be known"
	}
	s, err := strictjson.Object(schema)
	if err != nil {
		return nil, "its schema cannot be read: " + strings.TrimPrefix(err.Error(), "arguments: ")
	}
	if t, _ := s["type"].(string); t != "object" && t != "OBJECT" { // genai.Schema writes capitals
		return nil, `its schema is not of type "object"`
	}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch keyword {
		case "type", "properties", "required", "title", "description", "default", "example", "examples", "$schema", "$id", "$comment",
			"$defs", "definitions", "minProperties", "maxProperties", "dependentRequired", "propertyOrdering", "nullable", "strict", "deprecated":
		case "additionalProperties", "unevaluatedProperties":
			if s[keyword] != false {
				return nil, fmt.Sprintf("its schema has %q, so its arguments cannot be known", keyword)
			}
		default:
			if strings.HasPrefix(keyword, "x-") { // an annotation by convention
				continue
			}
			return nil, fmt.Sprintf("its schema has %.64q at top level, so its arguments cannot be known", keyword)
		}
	}
	props, ok := s["properties"].(map[string]any)
	if !ok && s["properties"] != nil {
		return nil, "the properties of its schema are not an object"
	}
	return props, ""
}

// holdsObject reports whether a schema says that values are, or hold, objects. A
// reference is not followed: the guard refuses objects at every call anyway, and
// this only says so earlier.
func holdsObject(schema any) bool {
	switch s := schema.(type) {
	case []any:
		return slices.ContainsFunc(s, holdsObject)
	case map[string]any:
		if _, ok := s["properties"]; ok || hasType(s, "object") {
			return true
		}
		for _, keyword := range [...]string{"items", "prefixItems", "anyOf", "oneOf", "allOf"} {
			if holdsObject(s[keyword]) {
				return true
			}
		}
	}
	return false
}
