// Package gate decides, for each piece of a conversation, whether it is worth looking
// into memory now: retrieve, prefetch or suppress. It sees the last few pieces and its
// own state, and no memory; it is pure, so the same pieces from the same state give
// the same decisions, field by field, on every machine.
//
// # Words
//
//	segment    one accepted piece of a conversation: what the user said, a tool call, its
//	           result, what the assistant said; N numbers them
//	trigger    the segment that is decided on
//	window     the trigger and up to seven segments before it, 4,096 characters together
//	signal     what of the window speaks for looking: 0 to [One]
//	policy     the weight of each signal, the thresholds, and the words that signals look
//	           for; immutable and named by a version
//	raw        the weighted sum of the signals; an explicit request to remember lifts it to
//	           the policy's floor
//	hesitation raw, held up while the latch is closed: what the thresholds judge
//	latch      closed at On, open below Off: once something is going on, a quieter segment
//	           does not end it (hysteresis)
//	cooldown   the number of segments after a retrieve in which only an explicit request
//	           retrieves again
//
// # Rules
//
// Whatever the score, a segment is suppressed by the first of these that holds: no-owner,
// disposed, child-session, no-segment, unsupported-trigger, plugin-generated-trigger,
// empty-query-signal, duplicate-context, user-ignored, cooldown.
//
// Numbers are integers of 1e-6, so that no machine rounds otherwise: the contract's
// decimals are exact in them.
//
// There are two policies. [Contract] is gate_pre_v1 as its contract has it, word for
// word; by its weights nothing but an explicit request ever reaches retrieve, since all
// other signals together weigh 0.70 and retrieve needs 0.80. [Calibrated] is the default:
// the same machine with two more signals and other numbers, by labelled conversations
// (testdata/cases.jsonl). A change of any weight, threshold or word is a new version; a
// test holds a digest of each.
//
// A [Run] is a conversation as it was recorded, with the memories that it was searched in.
// What no replay can find out, that a deadline fired or that another segment came first,
// stands in it as it was; all else is worked out again, and is equal field by field.
//
// # Not guaranteed
//
// Understanding. The signals are words and shapes, in English and Chinese.
package gate

// One is the value 1 of a signal, a weight and a threshold.
const One = 1_000_000
