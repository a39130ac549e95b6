package memtool

import (
	"strconv"
	"strings"
)

// Texts of the contract. The table's own prefixes are kept: some errors begin
// with "Error: " there and some do not. A caller behind a runner that adds the
// prefix itself passes the text through [Bare].

// NotFound is the text of command for a path that is not there, or is a
// directory where the command wants a file.
func NotFound(command, path string) string {
	switch command {
	case CmdView:
		return "The path " + path + " does not exist. Please provide a valid path."
	case CmdStrReplace:
		return "Error: The path " + path + " does not exist. Please provide a valid path."
	}
	return "Error: The path " + path + " does not exist"
}

// Created is the success of create.
func Created(path string) string { return "File created successfully at: " + path }

// Exists refuses create on a path that is taken, by a file or a directory.
func Exists(path string) string { return "Error: File " + path + " already exists" }

// Inserted is the success of insert.
func Inserted(path string) string { return "The file " + path + " has been edited." }

// Deleted is the success of delete.
func Deleted(path string) string { return "Successfully deleted " + path }

// Renamed is the success of rename.
func Renamed(from, to string) string { return "Successfully renamed " + from + " to " + to }

// DestinationExists refuses rename on a path that is taken.
func DestinationExists(to string) string {
	return "Error: The destination " + to + " already exists"
}

// TooManyLines refuses a view that the six columns of line numbers cannot hold.
func TooManyLines(path string) string {
	return "File " + path + " exceeds maximum line limit of 999,999 lines."
}

const (
	// CannotDeleteRoot refuses delete of the root.
	CannotDeleteRoot = "Cannot delete the " + Root + " directory itself"
	// CannotRenameRoot refuses rename of the root, and rename onto it.
	CannotRenameRoot = "Cannot rename the " + Root + " directory itself"
)

// IsDirectory refuses delete and rename of a directory: a call changes one file.
func IsDirectory(command, path string) string {
	return "Error: " + path + " is a directory. `" + command + "` takes one file; name the files one by one."
}

// Bare removes the "Error: " that some texts of the contract begin with.
func Bare(text string) string { return strings.TrimPrefix(text, "Error: ") }

// noMatch and multiple echo old_str only when the caller found it fit to be shown.
func noMatch(path, old string, echo bool) string {
	return "No replacement was performed, old_str" + echoed(old, echo) + " did not appear verbatim in " + path + "."
}

func multiple(old string, echo bool, lines []int, more bool) string {
	nums := make([]string, len(lines))
	for i, n := range lines {
		nums[i] = strconv.Itoa(n)
	}
	list := strings.Join(nums, ", ")
	if more {
		list += " and more"
	}
	return "No replacement was performed. Multiple occurrences of old_str" + echoed(old, echo) + " in lines: " + list + ". Please ensure it is unique"
}

func echoed(old string, echo bool) string {
	if !echo {
		return ""
	}
	return " `" + old + "`"
}

func badLine(line, lines int) string {
	return "Error: Invalid `insert_line` parameter: " + strconv.Itoa(line) +
		". It should be within the range of lines of the file: [0, " + strconv.Itoa(lines) + "]"
}
