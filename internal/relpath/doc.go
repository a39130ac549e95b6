// Package relpath parses an untrusted relative name into a [Path], or refuses it.
//
// A name is refused unless its canonical form is the name itself. It is never
// rewritten: normalising and then using a name judges one string and opens
// another, merges two topics into one file, and hides from the audit log what was
// asked for. The canonical form is offered as a suggestion, which is advice only.
//
// The check is lexical and pure. Cheap and specific rules come first; since a name
// passes only if every rule leaves it as it is, the order decides nothing but the
// reason that is reported.
//
//  1. Not empty, at most [MaxLen] bytes (before anything looks at its text).
//  2. UTF-8.
//  3. No byte, anywhere, of: C0 and DEL; backslash and colon (separators, drives
//     and streams of Windows); the wildcards * ? [ ] { }; ~ (home directories, 8.3
//     names); the shell's $ % " < > | ; ^ and backtick. No slash at either end.
//  4. Each segment: not empty, not . or .. ; no leading dot (every tool's
//     configuration), space, - @ # !; no trailing dot or space (Windows drops
//     them); no two spaces together; at most [MaxSegment] bytes, at most [MaxDepth]
//     segments; not a device of Windows (the text before the first dot counts), not
//     on the deny-list, not an instruction file that agents load by themselves. The
//     last ends in exactly ".md", after a stem that ends in neither dot nor space.
//  5. Beyond ASCII: letters, marks, numbers, punctuation and symbols that are
//     assigned and show something; nothing that looks like a slash or a backslash;
//     no mark without a letter before it and no more than [MaxMarks] on it; no
//     word of two alphabets that look alike; NFC.
//  6. Two views of each segment, which are judged and never used: its [fold.Key]
//     (what a file system may take it for) meets rules 3 and 4, and its
//     [fold.Skeleton] (what a reader may take it for) the lists of rule 4 again.
//
// Not covered, since it needs the disk: links, mounts, special files, siblings
// with one [SegmentKey] or [LookKey]. Not covered at all: 8.3 names that were set
// by hand without a tilde.
package relpath
