package gate

// Signal is one thing that speaks for looking into memory.
type Signal int

// The signals. The contract's are computed as it defines them; those that it gives no weight
// are always 0, as nothing here could know them.
const (
	ExplicitRecall Signal = iota // the user asks to remember
	ToolFailure                  // the trigger failed, or the last result of its tool
	Unresolved                   // the user said that something is open, and no result came since
	Repeated                     // the same tool is called again and again
	Novelty                      // the window has not seen this text
	PhaseShift                   // the user turns to something else after tools ran
	Historical                   // the same query found something in this session that still stands
	Conflict                     // the user corrects, and a result failed
	UnresolvedAge                // how long it has been open, of five minutes
	GoalDrift                    // always 0
	Monitor                      // always 0
	Question                     // the user asks something; ours
	Reference                    // the user speaks of what was before, or, for half, of what is theirs; ours
	signals                      // their number
)

var signalNames = [signals]string{
	"explicitRecall", "toolFailure", "unresolved", "repeated", "novelty", "phaseShift", "historical", "conflict",
	"unresolvedAge", "goalDrift", "monitor", "question", "reference",
}

// String gives the name that an audit row has.
func (s Signal) String() string { return signalNames[s] }

// Signals are the values of all of them.
type Signals [signals]int64

// Policy is everything that a decision depends on besides the conversation. It is plain
// data; change none that has a version.
type Policy struct {
	Version  string
	Weights  Signals
	On, Off  int64 // the latch closes at raw >= On, and opens at raw < Off
	Retrieve int64 // hesitation from which the memory is searched
	Prefetch int64 // and from which it is searched without showing anything
	Floor    int64 // raw of an explicit request at least
	Hold     int64 // hesitation while the latch is closed at least
	Cooldown int   // segments after a retrieve
	Words    Words
}

// Words are what signals look for, folded. A phrase of Latin letters has to stand between
// word ends, one of Han characters may stand anywhere.
type Words struct {
	Recall, Transition, Unresolved, Correction []string
	Question, Reference, Own                   []string
}

// Contract is gate_pre_v1. Its contract gives the weights, thresholds, floor and cooldown,
// the recall phrases and four words of the unresolved; the other lists it leaves open, and
// they are the shortest that it allows.
func Contract() Policy {
	return Policy{
		Version: "gate_pre_v1",
		Weights: Signals{
			ExplicitRecall: 300_000, ToolFailure: 160_000, Unresolved: 160_000, Repeated: 120_000, Novelty: 80_000,
			PhaseShift: 80_000, Historical: 50_000, Conflict: 30_000, UnresolvedAge: 20_000,
		},
		On: 650_000, Off: 420_000, Retrieve: 800_000, Prefetch: 550_000, Floor: 820_000, Hold: 550_000, Cooldown: 2,
		Words: Words{
			Recall:     []string{"回忆", "查找之前的记录", "上次如何处理", "remember what we decided"},
			Transition: []string{"接下来", "下一步", "next step", "moving on"},
			Unresolved: []string{"未解决", "待办", "失败", "仍需", "unresolved", "todo", "failed", "still need"},
			Correction: []string{"不对", "错了", "that is wrong", "that's wrong", "not correct"},
		},
	}
}

// Calibrated is the default. Against the contract it knows two more signals, so that a
// question about what was before, or a tool that fails again, is reason enough; it lists
// more ways to ask; and its thresholds lie where the labelled conversations part.
func Calibrated() Policy {
	return Policy{
		Version: "gate_1",
		Weights: Signals{
			ExplicitRecall: 450_000, ToolFailure: 300_000, Unresolved: 250_000, Repeated: 200_000, Novelty: 100_000,
			PhaseShift: 200_000, Historical: 50_000, Conflict: 250_000, UnresolvedAge: 50_000,
			Question: 250_000, Reference: 500_000,
		},
		On: 600_000, Off: 300_000, Retrieve: 600_000, Prefetch: 350_000, Floor: 820_000, Hold: 350_000, Cooldown: 2,
		Words: Words{
			Recall: []string{
				"remember what we", "remember how we", "remember when we", "do you remember", "what do you remember", "what did we decide",
				"what did we agree", "what have we decided", "how did we solve", "how did we fix", "how did we do", "remind me",
				"check your memory", "check your notes", "search your memory", "search your notes", "look in your notes", "recall what", "recall how",
				"回忆", "查找之前的记录", "上次如何处理", "还记得", "還記得", "记不记得", "查一下记录", "查查记录", "翻一下记录", "之前的记录", "上次怎么",
				"上次是怎么", "之前是怎么", "之前怎么", "我们当时怎么", "之前定的是什么", "上次定的",
			},
			Transition: []string{
				"next step", "moving on", "move on", "next up", "now let's", "now let us", "let's turn to", "switch to", "on to the", "another thing", "separately",
				"接下来", "下一步", "下一个", "换个话题", "另外", "转到", "然后我们",
			},
			Unresolved: []string{
				"unresolved", "todo", "to do", "failed", "failing", "fails", "still need", "still broken", "still not", "doesn't work", "does not work", "not working",
				"can't figure", "cannot figure", "stuck", "keeps crashing", "pending",
				"未解决", "待办", "失败", "仍需", "还没解决", "还是不行", "仍然不行", "不工作", "报错", "卡住", "没好", "搞不定",
			},
			Correction: []string{
				"that is wrong", "that's wrong", "not correct", "incorrect", "no, not", "i said", "as i said", "i told you", "not what i", "should have been",
				"不对", "错了", "不是这样", "我说过", "应该是", "搞错",
			},
			Question: []string{
				"?", "what", "which", "where", "when", "who", "why", "how",
				"吗", "呢", "什么", "哪", "谁", "为什么", "怎么", "如何", "多少", "几点", "是不是",
			},
			Reference: []string{
				"last time", "last week", "last month", "previously", "as before", "like before", "as usual", "the usual", "our usual", "usually",
				"same as", "like we did", "have we", "did we", "we decided", "we agreed", "we chose", "we settled", "do we use", "do we have", "do we deploy",
				"do we store", "do we keep", "do we call", "do we run", "do we name", "our convention", "our policy",
				"my preference", "do i prefer", "do i like", "did i say", "did i tell", "i told you",
				"上次", "之前", "以前", "老样子", "照旧", "惯例", "和以往一样", "我们定", "我们约定", "我们一般", "我们通常", "我们用", "我们的规范", "我喜欢", "我习惯", "我平时", "来着",
			},
			Own: []string{
				"my", "our", "ours", "mine", "was", "were", "again", "earlier", "already",
				"我的", "我们的", "我家", "咱们", "又", "已经",
			},
		},
	}
}
