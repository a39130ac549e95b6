// Package journal is the encoding of a room's audit journal: an append-only file
// in which each row commits to the row before it, and the fold that turns rows
// into what they add up to. It does no I/O. Values are safe for concurrent
// reading; nothing here locks.
//
// # Format
//
// UTF-8 without a byte order mark. One JSON object a line, each line ended by one
// line feed, at most [MaxLine] bytes with it. There is one way to write a row,
// and [Decode] takes no other:
//
//	{"seq":7,"time":"2026-09-21T08:12:00Z","op":"add","path":"a.md",
//	 "new":"<64 hex>","trust":"user-observed","prev":"<64 hex>","hash":"<64 hex>","mac":"<64 hex>"}
//
// (on one line). Members come in the order of the table below; a member whose
// value is empty, 0 or false is left out, except seq, time, op and hash. There is no
// white space between tokens. In strings only these are escaped: the quote and the
// backslash by a backslash, and as \u00xx or \u20xx what a terminal or a line
// reader could act on (U+0000 to U+001F, U+007F to U+009F, U+2028, U+2029). The
// encoder is written by hand, because encoding/json has changed its escapes
// between Go releases and a hash must not depend on the release.
//
//	seq      1, 2, 3, ... without a gap
//	time     RFC 3339 with up to nine digits of a second, UTC ("Z")
//	op       one of the Op constants
//	format   format rows: the version of this format
//	path     the memory's relative path, as judged
//	to       rename, restore: where it goes (see the table of ops); alias: the memory
//	old      hex SHA-256 of the bytes that were there
//	new      hex SHA-256 of the bytes that are there now; hold: of the pending file
//	trust    name of the trust that the bytes were stored with
//	source   where the text came from: a keyed hash of the session, and a turn
//	key      the memory's key
//	link     archive, stow, link: the path of the memory that takes its place
//	category archive, stow, link: why it was retired, in a word
//	act      hold, approve: the operation that waits, or that is carried out
//	ref      abort, rollback, restore, link, prune: the seq of the row that is meant
//	by       who acted
//	reason   why, in the words of whoever acted
//	rules    rule identifiers: flags of an accepted memory, reasons of a refusal
//	id       the held candidate
//	digest   digest of the proposal, by which a refused one is known again; prune without
//	         path: of the state that the dropped rows added up to; join: hash of the other
//	         side's last row
//	approved true when the operator accepted these bytes
//	plan     candidates that were proposed together share it
//	part     position among the rows of one append, from 1 (see Batch)
//	parts    number of rows of that append
//	prev     hash of the row before; left out in the first row
//	hash     hex SHA-256, see below
//	mac      hex HMAC-SHA-256, when the room has a key
//
// The hash of a row is SHA-256(p || j), where p is the 32 bytes of the hash of the
// row before (none for the first row) and j is the row's own JSON without its last
// two members, hash and mac. With a key, mac is HMAC-SHA-256(key, h), where h is
// the 32 bytes of that hash. As hashes chain, a MAC vouches for the order and
// content of every row before it, but not for who wrote them: that is a matter of
// each row's own MAC ([Stamp.Verified]).
//
// The first row has op format and names the version, [Version]. A reader that
// meets a newer one reads on leniently (members and ops that it does not know are
// passed over; the chain is still checked) and returns [*Newer], so that a room may
// be shown and must not be written. For that, every future version keeps: lines of
// JSON, the members seq, prev, hash and mac, their meaning, and hash and mac as the last two.
//
// # What rows do to content
//
// Acceptance means: these exact bytes, at this path, passed admission here or were
// accepted by the operator. [State] is the fold; this is all that it does.
//
//	op        accepted bytes                         besides
//	add       new at path                            the tomb of path goes
//	replace   new at path                            same
//	edit      new at path                            same
//	adopt     new at path                            same
//	rollback  new at path; without new: path freed   a tomb, or its removal; what was retired
//	                                                 from path after row ref leaves the archive
//	restore   new at to (or path)                    the archive entry goes that row ref made
//	                                                 of path, or the last one
//	rename    those of path move to to; without      a tomb at path
//	          any, and approved: new at to
//	alias     -                                      path is a former name of to: it was its
//	                                                 name on a side that was joined
//	remove    path freed                             a tomb at path
//	archive   path freed                             a tomb; an archive entry of path, with
//	                                                 its category and, where link stands,
//	                                                 that as what supersedes it
//	stow      -                                      an archive entry of path, as archive makes
//	                                                 it, of the bytes new; a tomb at path,
//	                                                 where nothing is accepted and none is
//	link      -                                      of the archive entry that row ref made of
//	                                                 path: without link, its link is cut;
//	                                                 category and new count where given
//	observe   without new: path freed (deleted       a tomb. With new: none changes, the
//	          outside)                               bytes seen are noted as unaccepted
//	purge     path freed, its archive entries go     its candidates go, its tomb keeps no
//	          (those of a former name too, that      hash, nor do those of its former names,
//	          were made before the rename)           with candidates from before the rename;
//	                                                 digest is refused. With id: only
//	                                                 that candidate goes, digest is refused.
//	                                                 With new: those bytes, which a side that
//	                                                 was joined wrote meanwhile, are spared
//	                                                 and noted as unaccepted
//	approve   what act does, approved                candidate id goes, digest is cleared
//	abort     what row ref did is undone             everything else it did, too
//	anchor    all acceptance ends, archived too      candidates and observations end (their
//	                                                 files are left); tombs, former names,
//	                                                 refused digests and waivers stay
//	hold      -                                      candidate id waits
//	withdraw  -                                      candidate id goes
//	refuse    -                                      candidate id goes, digest is refused
//	waive    -                                      key is waived for reason, or without
//	                                                 one no more
//	format, reject, prune, join, open: nothing. They are history only.
//
// A link leads to a memory, and goes where that goes: to its new name, into the archive
// and back. When the memory is removed, purged, deleted outside or rolled back to
// nothing, the links to it are cut.
//
// A row that accepts bytes also ends what was noted as seen outside at that path,
// and clears its digest from the refused ones when it carries one.
//
// # Damage
//
// A row is written before the change that it is about, in one append, and flushed.
// A crash can therefore leave an incomplete last append and nothing else: that is a
// torn tail ([Damage.Torn]), which recovery may cut off at [Damage.Offset]. It is
//
//  1. a last line without its line feed, or
//  2. a last line that is not JSON, or holds zero bytes, or
//  3. a line with zero bytes (a block that never reached the disk) after which there
//     are only rows of the same append, as their part shows, or further such lines.
//
// Everything else that does not verify is damage that no crash explains.
//
// # Not guaranteed
//
// Whoever may write the file can cut off rows at its end, or write a whole new
// chain, and the chain will verify. Only a [Head] that is kept elsewhere, or rows
// with a MAC under a key that is kept elsewhere, show it; and a MAC does not show
// that later rows were cut off. The MAC itself is not covered by the chain: a
// changed one costs its row the verification and is not damage, and without the
// key it is not seen at all. Digests are of contents: who can guess a content can confirm the guess.
package journal
