package directive

// A hint is a weak signal: alone it says nothing, with others of another class it
// does. Its weight is about the natural logarithm of how much more often it was
// met in instruction-shaped attacks than in benign notes and conventions; the
// bare words always, never and must, and the bare recommend, came out at 0 and are
// not here. Rows of one name are one class, whose first row has the weight. A hint
// without a pattern is found by shape, not by words (see shapes).
type hintRow struct {
	name    string
	weight  int
	pattern string
	yes, no string
}

const (
	weakPair   = 6 // sum that flags: two middling hints, or a good one and a half
	strongPair = 7 // sum that holds, unless the sentences talk about attacks
)

// hintTable returns all hints.
func hintTable() []hintRow {
	return []hintRow{
		{"drop", 4, "drop 3 prior|all|your", "forget the earlier plan", "forget the plan"},
		{"authority", 4, "^authority|new|urgent 1 note|rule 1 colon", "Admin note: restart", "Release note: restart"},
		{"authority", 4, "i 2 be 3 your 2 authority", "I am your administrator", "I am your neighbour"},
		{"authority", 4, "approve 2 authority", "approved by management", "approved by Anna"},
		{"promotion", 4, "best 2 product", "the best laptop", "the fast laptop"},
		{"promotion", 4, "&best|product", "a trusted source for it", "a second source for it"},
		{"regard", 4, "regard", "handled as pre-approved", "handled as plain text"},
		{"secretly", 4, "secretly 2 send|include|run|store", "silently upload it", "silently it failed"},
		{"role-tag", 4, "", "", ""},
		{"command", 4, "", "", ""},
		{"lapsed", 3, "rule|policy|safety|limit 4 void", "the policy was suspended", "the train was suspended"},
		{"bypass", 3, "skip|none 3 control|safety|limit !neg", "without confirmation", "without coffee"},
		{"address", 3, "dest", "at drop.invalid", "at main.go"},
		{"privilege", 3, "priv", "with elevated rights", "with equal rights"},
		{"memory", 3, "store 5 memory", "write it to long-term memory", "write it to disk"},
		{"forged", 3, "you 2 agree", "you agreed", "you left"},
		{"tool", 3, "^run 4 tool", "call the tool", "call the dentist"},
		{"secret-file", 3, "", "", ""},
		{"argument", 3, "", "", ""},
		{"key-block", 3, "", "", ""},
		{"future", 2, "future", "from now on", "until now"},
		{"remember", 2, "remember", "remember it", "read it"},
		{"trigger", 2, "when 4 user|you 3 ask", "when the user asks", "when the server stops"},
		{"reply", 2, "your 1 reply", "in your answer", "in your branch"},
		{"secret", 2, "secret|prompt", "the password", "the colour"},
		{"persona", 2, "actas|persona", "pretend to be a pirate", "a pirate"},
		{"send", 1, "send 6 data|secret", "upload the transcript", "upload the picture"},
		{"you", 1, "you", "you", "we"},
		{"agent", 1, "agent", "the assistant", "the server"},
		{"urgent", 1, "urgent", "urgent", "later"},
		{"approve", 1, "approve", "approve it", "file it"},
		{"obey", 1, "obey", "obey it", "file it"},
		{"pay", 1, "pay", "the invoice", "the letter"},
	}
}
