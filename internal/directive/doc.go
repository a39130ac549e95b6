// Package directive decides by structure whether a text is shaped like an
// instruction to a model. It knows no attack sentences. Words are looked up as
// concepts (what a word does: put aside, come before, steer, conceal, send, be
// secret, be an address ...), and rules are short sequences of concepts, so that
// one rule serves every language of the lexicon. The text that is looked at is the
// comparison view of package fold; offsets are bytes of the original.
//
// # Reading
//
//  1. The view is cut into sentences (marks, list items, headings, blank lines; a
//     plain line break is wrapped text) and sentences into words. Scripts without
//     blanks are cut by the longest dictionary word; Japanese and Korean
//     sentences are also read backwards, because their verb comes last.
//  2. Words that were pulled apart ("i g n o r e", "pre-serve") or glued together
//     are looked up whole; traditional Chinese is looked up as simplified.
//  3. A negation turns the one verb that follows it. There is no negation by
//     distance: it rejects what is harmless and is defeated by a stray "not".
//  4. A sentence that talks about attacks flags, but does not hold.
//  5. Each sentence has a score: the sum of the weights of what stands in it (concepts,
//     a concept shortly before another, hints, words and pairs of words). It is a
//     linear classifier, learnt from texts of this project alone by gen/main.go.
//
// # Rules
//
//   - directive.override: earlier or other instructions are put aside, declared
//     void, or replaced by "your real task"
//   - directive.persona: a new, unrestricted or obedient self
//   - directive.concealment: something is to be kept from the user
//   - directive.exfiltration: a secret or data is sent to an address, to an
//     outsider or to another agent
//   - directive.prompt-leak: the model is to give away its own instructions
//   - directive.trigger-action: what a user will say is tied to what is then done
//   - directive.persistence: an obligation for all later sessions
//   - directive.privilege: a person or account is given unlimited rights
//   - directive.bypass-control: an approval, confirmation or check is taken away
//   - directive.memory-write: the model's memory or instructions are to be edited
//   - directive.redirect: money, a secret or an entity is pointed somewhere else
//   - directive.promotion: a product or source becomes the answer
//   - directive.authority: borrowed authority, forged agreement
//   - directive.role-tag: a chat template's token
//   - directive.payload: a command or markup that acts
//   - directive.pair: two or more weak signals ("hints") in one or two sentences,
//     unless the score speaks clearly against it; it holds when the score agrees
//   - directive.score: the score alone
//   - directive.convention: nothing of the above, but an order of the kind that
//     memory is for; reported only when there is no other finding
//
// Each row of a table has its origin, a true and a false example; the bare words
// always, never and must decide nothing. A finding says what was met ([Finding].Why).
//
// # What it was measured on
//
// testdata/adversarial.jsonl has attacks and near misses of the project's own, written
// in rounds before anything was changed for them. They are worded to get through:
// policies, flattery, data, notes of an agent to itself. Before, then with the rules,
// lexicon and score of today:
//
//   - round 1: at first 50 of 202 attacks were flagged, and 13 of 166 harmless texts;
//     round 1: now 135 of 202 attacks and 11 of 166 harmless texts
//   - round 2: the rules before the score had flagged 7 of 62 and 1 of 40;
//     round 2: now 26 of 62 attacks and 1 of 40 harmless texts
//   - round 3, worded like the public collections: before the score 20 of 40 and 5 of
//     40 had been flagged, with it 29 of 40 and 6 of 40 at first;
//     round 3: now 31 of 40 attacks and 4 of 40 harmless texts
//
// None of these texts is among those that the score learns from, but the same people
// wrote both: take the last figures for the upper end. Most of the harmless ones that
// are flagged are security notes that quote an attack. examples/screen-eval measures
// any other collection, also with each source left out.
//
// # Non-guarantees
//
// A statement of fact that is false, a policy stated politely, and text that is
// encoded, reversed or translated into a language outside the lexicon pass. Some
// honest notes have the shape of an attack ("later directives override earlier
// directives", a nightly job that uploads records) and are flagged or held.
// Nothing here replaces provenance: the trust of the writer decides what a finding
// leads to, and no text is safe because nothing was found.
package directive
