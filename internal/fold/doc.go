// Package fold makes comparison views of text: forms that are compared and never
// used. A name or a memory is judged in several views, and stored as it was given.
//
// The views, from fine to coarse:
//
//   - [Key]: names that some file system takes for one another have one key. It is
//     coarser than the name equality of NTFS, exFAT, HFS+, APFS, and ext4 and f2fs
//     with case folding (NFD, full case folding, default-ignorables of length zero).
//   - [Skeleton]: names that a reader takes for one another have one skeleton. It
//     follows UTS #39 without its merging of ASCII characters.
//   - [View]: the skeleton's reading of running text, with the way back to the
//     bytes.
//
// and the classes of code points that rules are made of: [ClassOf], [Ignorable],
// [Assigned], [LooksLike].
//
// The tables are of one Unicode version ([Version]), whatever toolchain builds
// them; normalisation is that of golang.org/x/text.
//
// Not covered: likeness of whole words (rn and m), of Han characters, and of
// letters outside the tables to each other; a view is evidence, not proof.
package fold

//go:generate go run gen/main.go gen/confusables.go
