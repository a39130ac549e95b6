package directive

// set is a set of concepts. A concept is what a word does in an instruction,
// whatever the language it is written in; rules are written over concepts only.
type set uint64

const (
	cDrop      set = 1 << iota // put aside: ignore, disregard, forget, override
	cPrior                     // what came before: previous, above, initial
	cAll                       // all, every, any, no matter
	cRule                      // what steers a model: instructions, directives, prompt, guidelines
	cPolicy                    // what steers anybody: rules, policy, constraints, protocol
	cSafety                    // safety, guardrails, moderation, content filters
	cLimit                     // restrictions, limits, limitations, boundaries
	cControl                   // approval, confirmation, verification, checks
	cSkip                      // skip, bypass, disable, turn off
	cNone                      // without, no, none, free from
	cNeg                       // do not, never
	cTell                      // tell, mention, inform
	cReveal                    // reveal, print, dump, repeat
	cSay                       // say, answer, respond, state
	cUser                      // user, customer, operator, anyone
	cYou                       // you
	cYour                      // your
	cAgent                     // AI, assistant, agent, model
	cThis                      // this, these, it
	cSend                      // send, forward, upload, leak
	cData                      // data, records, conversation, results
	cSecret                    // credentials, keys, tokens, personal data
	cPrompt                    // system prompt, hidden instructions
	cDest                      // an address: URL, e-mail, host name
	cOut                       // external server, third party, to me
	cWhen                      // when, whenever, if, each time
	cAsk                       // asks, says, mentions, requests
	cAlways                    // always, only, automatically
	cFuture                    // from now on, in all future sessions
	cRemember                  // remember, keep in mind
	cStore                     // save, store, add, write, update
	cMemory                    // your memory, long-term memory, knowledge base
	cNew                       // new, updated, revised
	cReal                      // real, actual, true
	cTask                      // task, goal, objective, role, purpose
	cVoid                      // suspended, expired, no longer apply
	cAuthority                 // administrator, system, management, compliance
	cNote                      // the noun of a header: note, notice, update, override
	cApprove                   // approved, authorised, trusted, granted
	cPriv                      // unrestricted, full access, superuser
	cBe                        // is, are, was, has been
	cI                         // I, me, my
	cRecommend                 // recommend, suggest, promote, cite
	cBest                      // best, top choice, only brand, authoritative source
	cProduct                   // products, services, vendor, brand
	cRun                       // run, execute, call, invoke
	cMust                      // must, shall, should, have to
	cAgree                     // agreed, confirmed, promised
	cSecretly                  // secretly, silently, covertly
	cPay                       // pay, transfer, wire, refund, payment
	cQuote                     // a quotation mark that opens or closes
	cColon                     // a mark after which a clause starts: colon, closing bracket, cell border, backtick
	cPersona                   // jailbreak names of modes and persons
	cActAs                     // you are now, act as, pretend
	cRedirect                  // redirect, reroute, replace, instead, now under
	cInclude                   // include, append, insert, attach
	cReply                     // response, reply, answer as a thing
	cObey                      // obey, comply, follow
	cUrgent                    // important, critical, immediately
	cTool                      // tool, function, plugin
	cTo                        // the preposition of a destination: to, into, at
	cRegard                    // given a standing: as pre-approved, as policy
	cMeta                      // talk about attacks: injection, attacker, detect
	cLinked                    // an address as the target of a link, or between angle brackets
)

// conceptNames is the vocabulary of patterns, in the order of the constants.
const conceptNames = "drop prior all rule policy safety limit control skip none neg tell reveal say user you your agent this send data secret " +
	"prompt dest out when ask always future remember store memory new real task void authority note approve priv be i recommend best product run must " +
	"agree secretly pay quote colon persona actas redirect include reply obey urgent tool to regard meta linked"

// affirmed are the concepts that mean the opposite right after a negation. Only
// the word directly after it is turned ("never skip"): measuring the distance in
// characters over-rejects and can be defeated ("do not give up skipping").
const affirmed = cDrop | cSkip | cSend | cReveal | cRun | cStore | cActAs | cApprove | cInclude | cRedirect | cRemember | cVoid | cPriv | cAgree
