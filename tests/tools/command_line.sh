#!/bin/sh
# What `tally` answers to right and wrong command lines. Arguments: the program, the folder of scenarios.
set -u
tally=$1
scenarios=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS TEXT-ON-STDOUT TEXT-ON-STDERR ARGUMENTS...; an empty text: that stream is empty.
expect()
{
	status=$1 out=$2 err=$3
	shift 3
	"$tally" "$@" >"$dir/out" 2>"$dir/err"
	found=$?
	if [ "$found" -ne "$status" ]; then
		echo "tally $*: exit status $found, expected $status"
		failed=1
	fi
	for stream in out err; do
		eval "text=\$$stream"
		if [ -z "$text" ] && [ -s "$dir/$stream" ]; then
			echo "tally $*: std$stream should be empty:"
			cat "$dir/$stream"
			failed=1
		elif [ -n "$text" ] && ! grep -qF -e "$text" "$dir/$stream"; then
			echo "tally $*: std$stream should say '$text':"
			cat "$dir/$stream"
			failed=1
		fi
	done
}

good=$scenarios/faults/a6-reset-keeps-times.yaml
expect 2 "" "usage: tally COMMAND"
expect 0 "usage: tally COMMAND" "" --help
expect 2 "" "unknown command \`explore-all\`" explore-all
expect 0 "usage: tally run SCENARIO" "" run --help
expect 2 "" "expected one scenario file" run
expect 2 "" "expected one scenario file" run "$good" "$good"
expect 2 "" "unknown option" run --sed 3x "$good"
expect 2 "" "unknown option" run --frobnicate "$good"
expect 2 "" "--seed: \`3x\` is no number" run --seed 3x "$good"
expect 2 "" "--seed: \`-3\` is no number" run --seed=-3 "$good"
expect 2 "" "no-such-file.yaml: No such file or directory" run no-such-file.yaml
expect 0 "verdict: 1 events, all equal to the oracle" "" run "$good"
expect 0 "seed 77," "" run "$good" --seed 77
expect 0 "" "" run --quiet "$good"

# A scenario that expects what does not happen: what, where, and exit status 1.
sed 's/value: 1M, enabled: 3ms/value: 1000001, enabled: 3ms/' "$good" >"$dir/wrong.yaml"
expect 1 "event INST: value is 1,000,000, expected 1,000,001 (-1)" "" run "$dir/wrong.yaml"
expect 1 "verdict: FAULT: 1 differences" "" run --quiet "$dir/wrong.yaml"

# Events that cannot share a perf.data are refused before anything is run or written.
sed 's/sample_type: \[identifier, /sample_type: [/; s/time, id, /time, /' "$scenarios/profile.yaml" >"$dir/one.yaml"
expect 0 "verdict" "" run "$dir/one.yaml" -o "$dir/one.data"
cat "$dir/one.yaml" >"$dir/two.yaml"
sed -n '/^  - name: cycles:u/,/^$/p' "$dir/one.yaml" | sed 's/cycles:u/other/' >"$dir/event"
sed -i "/^events:/r $dir/event" "$dir/two.yaml"
expect 2 "" "both need sample_type identifier" run "$dir/two.yaml" -o "$dir/two.data"
if [ -e "$dir/two.data" ]; then
	echo "two.data was written all the same"
	failed=1
fi
expect 2 "" "no event has a ring" run "$good" -o "$dir/three.data"
expect 1 "verdict" "No such file or directory" run "$scenarios/profile.yaml" -o "$dir/no/such/folder/perf.data"
exit $failed
