package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/memoryroom/scribe/internal/gate"
)

// conversation is one labelled case for the gate; see the package comment.
type conversation struct {
	ID       string
	Label    string
	Segments []struct {
		Kind, Text, Tool, Plugin string
		Failed, Child            bool
		At                       int64
	}
}

// mix is what one policy did with the segments of all conversations.
type mix struct {
	Policy   string  `json:"policy"`
	Segments int     `json:"segments"`
	Retrieve int     `json:"retrieve"`
	Prefetch int     `json:"prefetch"`
	Suppress int     `json:"suppress"`
	Worth    int     `json:"worth_retrieving"`
	Found    int     `json:"of_them_retrieved"`
	Wrong    int     `json:"retrieved_and_not_worth_it"`
	Recall   float64 `json:"trigger_recall"`
	Precise  float64 `json:"trigger_precision"`
	Replayed bool    `json:"replay_equal"` // a second run gave the same, field by field

	Reasons map[string]int `json:"reasons"`
}

// gates reads the conversations and runs both policies over them.
func gates(file string, asJSON bool, out io.Writer) error {
	var all []conversation
	err := eachLine(file, func(line []byte) error {
		var c conversation
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&c); err != nil {
			return err
		}
		if len(c.Segments) == 0 || len(c.Label) != len(c.Segments) {
			return errors.New("label needs a letter for each segment: r, p, s, or . for none")
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		return err
	}
	var mixes []mix
	for _, p := range []gate.Policy{gate.Contract(), gate.Calibrated()} {
		mixes = append(mixes, mixOf(p, all))
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(mixes)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\tsegments\tretrieve\tprefetch\tsuppress\ttrigger recall\tprecision\treplay\t")
	for _, m := range mixes {
		replay := "differs"
		if m.Replayed {
			replay = "equal"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.3f (%d of %d)\t%.3f\t%s\t\n", m.Policy, m.Segments, m.Retrieve, m.Prefetch, m.Suppress, m.Recall, m.Found, m.Worth, m.Precise, replay)
	}
	return w.Flush()
}

// mixOf runs one policy. Precision counts a retrieve as right where the label is r, as wrong
// where it is s, and not at all elsewhere: a look too early is no fault.
func mixOf(p gate.Policy, all []conversation) mix {
	m := mix{Policy: p.Version, Replayed: true, Reasons: map[string]int{}}
	for _, c := range all {
		inputs := c.inputs()
		decisions := p.Replay(inputs)
		m.Replayed = m.Replayed && slices.Equal(decisions, p.Replay(inputs))
		for i, d := range decisions {
			m.Segments++
			m.Reasons[d.Reason]++
			worth := c.Label[i] == 'r'
			if worth {
				m.Worth++
			}
			switch d.Action {
			case gate.Retrieve:
				m.Retrieve++
				if worth {
					m.Found++
				}
				if c.Label[i] == 's' {
					m.Wrong++
				}
			case gate.Prefetch:
				m.Prefetch++
			default:
				m.Suppress++
			}
		}
	}
	m.Recall, m.Precise = share(m.Found, m.Worth), share(m.Found, m.Found+m.Wrong)
	return m
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func (c conversation) inputs() (all []gate.Input) {
	start := time.Unix(0, 0).UTC()
	for i, s := range c.Segments {
		all = append(all, gate.Input{Segment: &gate.Segment{
			N: i + 1, Kind: s.Kind, Text: s.Text, Tool: s.Tool, Plugin: s.Plugin, Failed: s.Failed, Child: s.Child,
			Time: start.Add(time.Duration(s.At) * time.Millisecond),
		}})
	}
	return all
}
