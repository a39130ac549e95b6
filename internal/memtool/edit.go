package memtool

import "strings"

const (
	// maxOccurrences caps the lines that a refused replacement names.
	maxOccurrences = 50

	edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
)

// Replace computes str_replace: text with the only occurrence of old exchanged
// for new, literally. result is the contract's success text with a snippet of
// what was written. The error is an *Error of kind [NoMatch] or [Multiple], or an
// *ArgError for an empty old.
//
// An error repeats old only when it is at most 200 bytes and clean says that it
// may be shown; clean is not called otherwise, and a nil clean is a no.
func Replace(path, text, old, new string, clean func(string) bool) (result, out string, err error) {
	if old == "" {
		return "", "", emptyOld()
	}
	at := strings.Index(text, old)
	if at >= 0 {
		if again := strings.Index(text[at+1:], old); again < 0 {
			out = text[:at] + new + text[at+len(old):]
			return edited + "\n" + Snippet(out, 1+strings.Count(out[:at], "\n")), out, nil
		}
	}
	echo := len(old) <= maxEcho && clean != nil && clean(old)
	if at < 0 {
		return "", "", &Error{NoMatch, noMatch(path, old, echo)}
	}
	lines, more := occurrences(text, old)
	return "", "", &Error{Multiple, multiple(old, echo, lines, more)}
}

// occurrences lists the lines on which old begins, each once, at most
// maxOccurrences of them; more reports that there are others. Each round ends a
// line, so that overlapping matches cannot make it quadratic.
func occurrences(text, old string) (lines []int, more bool) {
	line, pos := 1, 0
	for {
		i := strings.Index(text[pos:], old)
		if i < 0 {
			return lines, false
		}
		if len(lines) == maxOccurrences {
			return lines, true
		}
		line += strings.Count(text[pos:pos+i], "\n")
		lines = append(lines, line)
		pos += i
		end := strings.IndexByte(text[pos:], '\n')
		if end < 0 {
			return lines, false
		}
		pos += end + 1
		line++
	}
}

// Insert computes insert: text with ins after line number line, as whole
// lines; 0 is the top. One trailing "\n" of ins is dropped before its own is
// added, and an unended last line of text is ended first. Every other byte stays.
// The error is an *Error of kind [BadLine].
func Insert(path, text string, line int, ins string) (out string, err error) {
	n := lineCount(text)
	if line < 0 || line > n {
		return "", &Error{BadLine, badLine(line, n)}
	}
	at := 0
	if strings.HasPrefix(text, bom) {
		at = len(bom) // a byte order mark is no text: it stays the first thing in the file
	}
	for range line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			at = len(text)
			break
		}
		at += i + 1
	}
	end := ""
	if at > 0 && text[at-1] != '\n' && text[:at] != bom {
		end = "\n"
	}
	return text[:at] + end + strings.TrimSuffix(ins, "\n") + "\n" + text[at:], nil
}

const bom = "\uFEFF"

// lineCount is the number of lines that hold something or are ended: "1\n2\n" and
// "1\n2" have two, "" has none.
func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
