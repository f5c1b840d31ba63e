// Plans statements with vtexplain of Vitess, which simulates vtgate and its shards in this process.
//
// It reads one JSON object from standard input and writes a JSON array, one entry for each statement, in order. The
// command vtexplain itself ends at the first statement that does not plan, so its packages are called instead.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"

	"vitess.io/vitess/go/stats"
	"vitess.io/vitess/go/vt/servenv"
	"vitess.io/vitess/go/vt/topo/memorytopo"
	"vitess.io/vitess/go/vt/vtenv"
	"vitess.io/vitess/go/vt/vtexplain"
	_ "vitess.io/vitess/go/vt/vtgate/vindexes"
)

type request struct {
	// The keyspaces, by name.
	Vschema json.RawMessage `json:"vschema"`
	// `create table` statements.
	Schema string `json:"schema"`
	// The number of shards of a sharded keyspace.
	Shards int `json:"shards"`
	// The keyspace that a table is looked up in first; empty to look it up in all of them.
	Target     string   `json:"target"`
	Statements []string `json:"statements"`
}

type answer struct {
	// Why the statement does not plan; empty if it does.
	Error string `json:"error,omitempty"`
	// Vitess's name of the kind of plan: Passthrough, Lookup, MultiShard, Scatter, Join, ...
	Type string `json:"type,omitempty"`
	// The instructions of the plan.
	Plan json.RawMessage `json:"plan,omitempty"`
	// The shards that received a query in the simulation, as `keyspace/shard`.
	Shards []string `json:"shards,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	var wanted request
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		return err
	}
	ctx := context.Background()
	env, err := vtenv.New(vtenv.Options{MySQLServerVersion: servenv.MySQLServerVersion(), TruncateErrLen: 0})
	if err != nil {
		return err
	}
	explainer, err := vtexplain.Init(
		ctx,
		env,
		memorytopo.NewServer(ctx, vtexplain.Cell),
		string(wanted.Vschema),
		wanted.Schema,
		"",
		&vtexplain.Options{
			ExecutionMode:   vtexplain.ModeMulti,
			ReplicationMode: "ROW",
			NumShards:       wanted.Shards,
			Normalize:       true,
			Target:          wanted.Target,
		},
		stats.NewCountersWithSingleLabel("", "operations of the topology", "type"),
	)
	if err != nil {
		return err
	}
	defer explainer.Stop()
	answers := make([]answer, 0, len(wanted.Statements))
	for _, statement := range wanted.Statements {
		answers = append(answers, planned(explainer, statement))
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func planned(explainer *vtexplain.VTExplain, statement string) (result answer) {
	defer func() {
		if cause := recover(); cause != nil {
			result = answer{Error: fmt.Sprintf("the planner panics: %v", cause)}
		}
	}()
	explained, err := explainer.Run(statement)
	if err != nil {
		return answer{Error: err.Error()}
	}
	for _, each := range explained {
		for _, plan := range each.Plans {
			result.Type = plan.Type.String()
			encoded, err := json.Marshal(plan.Instructions)
			if err == nil {
				var described struct {
					Instructions json.RawMessage
				}
				whole, _ := json.Marshal(plan)
				_ = json.Unmarshal(whole, &described)
				encoded = described.Instructions
			}
			result.Plan = encoded
		}
		for shard := range each.TabletActions {
			result.Shards = append(result.Shards, shard)
		}
	}
	sort.Strings(result.Shards)
	return result
}
