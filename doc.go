// Package scribe keeps an agent's long-term memory as plain Markdown in one
// directory, and lets the component that decides what to remember do nothing but
// propose.
//
// Whatever can write an agent's memory owns its future: a poisoned web page or tool
// result becomes a "memory" that fires weeks later. A legitimate memory and a
// poisoned one are the same operation, so intent cannot be seen. Capability can.
// scribe removes capability (the writer's tools), constrains what remains, gates
// every write, and marks what is read back. It calls no model, uses no network,
// starts no process and logs nothing.
//
// # Words
//
//	room        the directory; the only place where memories live
//	memory      one topic: a Markdown file, with or without YAML frontmatter
//	index       MEMORY.md: one pointer line for each memory
//	writer      the component that decides what to remember, usually a subagent
//	candidate   a proposed change to one memory: add, replace, edit, remove, rename
//	admission   the decision on a candidate: accepted, held or rejected, with reasons
//	held        waiting for the operator in .scribe/pending; no model sees it
//	accepted    these exact bytes at this path passed admission here, or the operator
//	            accepted them
//	unaccepted  bytes in the room that were never accepted: left alone, counted, not shown
//	trust       who stands behind a text:
//	            operator > user-verified > user-observed > external-tool > external-web
//	            > unknown
//	guard       a reference monitor: a model's only handle on a room
//	snapshot    the frozen view of a room that goes into a system prompt
//	operator    the human, or the host's code acting for the human
//
// # Who holds what
//
// Authority is a type: what a value can do is its method set, and narrowing is
// handing over a smaller value.
//
//	Room      the operator's: lists, writes, resolves, adopts, restores, rolls back,
//	          purges, audits. Never give it to an agent.
//	Session   the host's loop for one conversation: the snapshot, the trust ceiling,
//	          when a writer runs. Never give it to a model.
//	Guard     a model's: reads what is accepted, proposes. Nothing else can be reached
//	          from it, and a writer's guard is dead once its extraction has ended.
//	Policy    the proof that a writer's tools were narrowed. Only Narrow makes one;
//	          the zero Policy allows our own tools alone.
//	Admit     one more admission rule, the host's. It can only tighten.
//	Snapshot, Memory, Candidate, Verdict, Finding, Ruling, Record and the rest are
//	plain data and authorise nothing.
//
// # Data flow
//
//	candidate > path > frontmatter > secret > hidden > directive > provenance
//	          > conflict > cap > review > the host's rules
//	          > version > journal > file > index
//	accepted memories > screen > snapshot, listing, view, recall
//
// Every stage sees every field and the complete text as it would be stored, and
// reports every reason it finds. The built-in stages run under the room's lock, against
// what is being replaced. Where the host has rules of its own, the built-in stages also run
// once before the lock, and then the host's rules, without it.
//
// # Trust
//
// A text is stamped with the least of what its author was shown: the session's
// ceiling ([Session.Observe] lowers it), what the host says of the turn ([Turn]), each
// memory that the guard viewed by name, each foreign tool's Gives, and the memory
// that it edits. Words that the user said, verbatim, may stand above that, up to
// user-verified. Repetition raises nothing; only the operator does ([Room.Adopt],
// [Resolution].Trust). What this gives holds whatever the screens miss: text from
// outside that the operator did not accept reaches a prompt as a count
// (external-web), or as quoted lines in a section of its own (external-tool).
//
// How to label: the user's messages and their own workspace are user-observed; shell
// output and third-party tools are external-tool; anything from a network, and
// cloned third-party trees, external-web.
//
// # The room on disk
//
//	<room>/
//	  MEMORY.md                the index, created with the first memory
//	  <topic>.md               memories; directories as you like, 12 levels at most
//	  .scribe/                 the library's own; no guard can name it
//	    lock                   an OS lock is held on the open file
//	    local                  this directory's identity, and a key for hashes
//	    audit.jsonl            the journal: append-only, hash-chained, no content
//	    audit/<row>.jsonl      its older rows, sealed at a mebibyte; beside them what rows
//	                           that Prune dropped added up to, and sides that were joined
//	    audit.torn.<n>         the end of an append that a crash cut short, kept aside
//	    checkpoint             what the journal adds up to: a cache, believed only over
//	                           the very bytes that it was made from
//	    versions/<row>-<hash>.md    the text that each row of the journal put in place
//	    pending/<id>.md        held candidates: a line of JSON, then the text
//	    archive/<row>/<path>   retired memories, by the row that retired them
//	    sessions/<hash>.json   ceiling, cursor, frozen snapshot of a session, and what it
//	                           was told since
//	    cache                  the search index of a large room: derived, and checked
//	    reserve                64 KiB that are given back when the disk is full
//	    swept/<2 hex>          a filter that knows the sessions that were forgotten
//	    shadow/<date>.jsonl    what Suggest would have given, with Options.Suggest "shadow";
//	                           state.json beside it counts how often that was turned on
//	    tmp/                   files on their way into place
//
// What scribe creates is 0700 and 0600; what exists keeps its mode until scribe writes
// it, which makes a file 0600. A memory is the
// bytes that were given. A candidate with Description, Type or Key gets frontmatter:
//
//	---
//	description: JWT migration plan and rollback steps
//	metadata:
//	  type: project
//	  key: auth-migration
//	  trust: user-verified
//	  source: 3f9a1c52b0de:turn-14
//	modified: 2026-09-21T08:12:00Z
//	---
//
// The keys metadata.{trust,source,status,supersedes,superseded_by,flags} and modified
// are the library's: a candidate that sets one is rejected, and where they exist they
// are kept up to date. They mirror the journal, which alone counts. Edits change the
// bytes they must and no other: unknown keys, comments, order, quoting, line ends and
// a byte order mark stay.
//
// A line of the index is "- [type] path (UTC minute): description". Exactly those
// lines are the library's; every other line of MEMORY.md is the user's and stays
// byte for byte. A memory below user-observed has no line: some hosts load the file
// whole.
//
// Each accepted text is kept as a version when it is accepted, and not only when it
// is replaced: an editor that saves in place destroys the only other copy, and the
// accepted text has to go on being shown.
//
// # The anchor
//
// A journal is history, and authority only where it was written: acceptance counts
// while .scribe/local names this directory's own inode and birth time. In a clone, a
// copy or an unpacked archive nothing is accepted until the operator adopts it. With
// Options.Key the rows carry a MAC instead and a room may travel; then rows without
// a right MAC do not count.
//
// Clones that share the key may both write, and be merged with plain git
// ([Room.GitAdvice] says what to ignore). The next Open joins their journals: what one
// side changed is taken over with the trust that it had there; where both changed a
// memory, git's result decides when it is what one of them accepted, else one side's text
// is shown, the other's is kept, and the file is an outside change. A rename is carried out,
// and what the other side did follows it. The lower of two trusts counts, and what the
// operator took back or refused on one side, nothing done on the other brings into sight. An unresolved merge
// is shown to no model and cannot be adopted. Rows without a right MAC are kept aside.
//
// # History
//
// The journal and the versions give the room back as it was at any row ([Room.At],
// [Room.Rollback]), as far back as [Room.Prune] left it. [Room.Check] compares all that
// is there with the rows, read anew from the files, and mends what it can.
// [Room.Verify] tells whether a head that was kept elsewhere still lies on the chain.
// By itself a plain chain shows changed, reordered and missing rows in the middle; it
// does not show rows cut off at its end, nor a chain written anew by somebody with the
// user's rights, nor who wrote a row.
//
// # One truth
//
// A key has one active memory. What takes a taken key names what it supersedes
// ([Candidate].Supersedes, [Resolution].Supersedes): the old memory goes to the archive,
// and its entry there names the new one. That entry is the only record of the link, it
// follows the new memory through renames and the archive, and it is never turned to
// another; the frontmatter of both mirrors it. What was superseded and is restored waits
// for the operator again.
//
// # Guarantees
//
// Each has an ID that README.md, SECURITY.md and the tests share.
//
//	G1   a narrowed writer reaches no shell, network, tool server, subagent or upload
//	G2   no name leads out of the room, to a reserved or deceptive name, or through
//	     a link
//	G3   hidden payloads in names or text are refused, removed and reported, or held
//	G4   instruction-shaped text is held or flagged, and always shown as quoted data
//	G5   text from outside does not become guidance, by edit, rename or repetition
//	G6   credential-shaped text is not stored anywhere in the room
//	G7   nothing is evicted: hard limits refuse, soft caps are loud, tombstones stay
//	G8   a session's snapshot does not change with what its own model writes (a purge
//	     takes the purged words out of it)
//	G9   a standing memory is not overwritten by what did not read it, or by lower trust
//	G10  no update is lost, no file is torn, and a forged journal row is noticed
//	G11  a room that arrived from elsewhere is unaccepted until it is adopted
//	G12  a writer's permissions are declared in code and end with its extraction
//
// # Not guaranteed
//
//   - Detection. The screens are lexical: they miss what is worded well enough. A
//     fact-shaped lie from a trusted source is stored. Provenance bounds the damage.
//   - Anything against a process with the user's own rights: it can rewrite the room
//     and .scribe with it. A head kept elsewhere ([Room.Head]) shows that.
//   - That a plain hash chain shows rows cut off at its end: see History above.
//   - That somebody without the key, who may write to a shared repository, does not bring
//     back rows that a clone wrote once: they are authentic, and are joined.
//   - What a foreign tool does between [Guard.Check] and its own use of a path.
//   - Network file systems' locks, and disks that lie about a flush. Outside Linux a
//     swap leaves a window of microseconds in which an editor's save can be lost.
//   - Purge outside the room: git history, backups, an editor's copies.
//
// # Errors
//
// A decision is a value, [Verdict] or [Ruling], that carries every reason. An error
// is a fault: I/O, a cancelled context, a closed room. ctx.Err() means that nothing
// was written and nothing will be. Texts that can reach a model are constants and a
// path: they never quote a candidate's content and never show an absolute path. The
// one exception is the memory tool's contract, which repeats a short, clean old_str.
package scribe
