#!/bin/sh
# Debian's own perf reads a group with a sampling leader: each of the leader's samples gives a period to every member,
# and the sums are the counts that `tally run` prints. Arguments: the program, the folder of scenarios.
set -u
tally=$1
scenarios=$2
if ! command -v perf >/dev/null; then
	echo "SKIPPED: there is no perf here (Debian: linux-perf), so nobody read the perf.data" >&2
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export HOME="$dir"
failed=0
fail()
{
	echo "$*"
	failed=1
}

"$tally" run "$scenarios/group-leader-sampling.yaml" -o "$dir/perf.data" >"$dir/table" || { cat "$dir/table"; exit 1; }
cd /
perf report --stdio --group -i "$dir/perf.data" >"$dir/report" 2>"$dir/report.err" || fail "perf report: exit status $?"
perf script -i "$dir/perf.data" -F event,period,sym >"$dir/script" 2>"$dir/script.err" || fail "perf script: exit status $?"
for err in report.err script.err; do
	[ -s "$dir/$err" ] && fail "perf wrote to stderr: $(cat "$dir/$err")"
done
grep -q "Samples: 5K of events 'cycles, instructions, branches, branch-misses'" "$dir/report" ||
	fail "the report does not show the group"

# The periods end with the leader's last sample, at 264,000,000 cycles: the whole work. 8 times
# 2 ms * 2200 + 8 ms * 6600 + 5 ms * 1100 instructions, and so on, by the phases of the scenario.
for pair in cycles:264000000 instructions:501600000 branches:55880000 branch-misses:920000; do
	found=$(awk -v e="${pair%:*}:" '$2 == e { sum += $1 } END { printf "%d", sum }' "$dir/script")
	[ "$found" -eq "${pair#*:}" ] || fail "${pair%:*}: the samples make $found, expected ${pair#*:}"
done
[ $failed -eq 0 ] || { cat "$dir/report"; head -8 "$dir/script"; }
exit $failed
