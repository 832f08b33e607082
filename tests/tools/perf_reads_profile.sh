#!/bin/sh
# Debian's own perf reads the profile that `tally run -o` writes: nothing on stderr, the programs' function names, their
# shares within 1 % of what the workload states, and every sample. Arguments: the program, the folder of scenarios.
set -u
tally=$1
scenarios=$2
if ! command -v perf >/dev/null; then
	echo "SKIPPED: there is no perf here (Debian: linux-perf), so nobody read the perf.data" >&2
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" # no build-id cache and no configuration of the user's
failed=0
fail()
{
	echo "$*"
	failed=1
}

"$tally" run "$scenarios/profile.yaml" -o "$dir/perf.data" >"$dir/table" || { cat "$dir/table"; exit 1; }
cd /
perf report --stdio -i "$dir/perf.data" --sort comm,dso,symbol >"$dir/report" 2>"$dir/report.err" ||
	fail "perf report: exit status $?"
perf script -i "$dir/perf.data" -F comm,pid,tid,cpu,time,period,event,ip,sym,dso >"$dir/script" 2>"$dir/script.err" ||
	fail "perf script: exit status $?"
perf script -i "$dir/perf.data" >"$dir/script.default" 2>>"$dir/script.err" || fail "perf script: exit status $?"
perf buildid-list -i "$dir/perf.data" >"$dir/buildids" 2>>"$dir/script.err" || fail "perf buildid-list: exit status $?"
for err in report.err script.err; do
	[ -s "$dir/$err" ] && fail "perf wrote to stderr: $(cat "$dir/$err")"
done

# Cycles of each function over all cycles, from the phases of the scenario: 2256 and 1800 per us.
cat >"$dir/expected" <<'END'
render shade 29.653
render trace_ray 14.826
render main 4.942
physics solve 29.653
physics integrate 9.884
audio mix 5.521
audio filter 5.521
END
while read -r comm function share; do
	found=$(awk -v c="$comm" -v d="$comm.elf" -v f="$function" \
		'$2 == c && $3 == d && $4 == "[.]" && $5 == f { sub("%", "", $1); print $1 }' "$dir/report")
	[ -n "$found" ] || fail "the report does not have $function of $comm"
	awk -v a="${found:-0}" -v b="$share" 'BEGIN { d = a - b; exit !(d < 1 && d > -1) }' ||
		fail "$comm $function: share $found %, the workload has $share %"
done <"$dir/expected"
functions=$(awk '$1 ~ /%$/' "$dir/report" | wc -l)
[ "$functions" -eq 7 ] || fail "the report has $functions lines, expected the 7 functions that run"

# 1128M, 902.4M and 252M cycles by 100,000.
for pair in render:11280 physics:9024 audio:2520; do
	found=$(awk -v c="${pair%:*}" '$1 == c' "$dir/script" | wc -l)
	[ "$found" -eq "${pair#*:}" ] || fail "perf script: $found samples of ${pair%:*}, expected ${pair#*:}"
done
[ "$(wc -l <"$dir/script.default")" -eq 22824 ] || fail "perf script: not 22824 lines"
grep -q "unknown" "$dir/script" && fail "perf script does not know some function: $(grep -m1 unknown "$dir/script")"
for name in render physics audio; do
	id=$(readelf -n "$dir/programs/$name.elf" | awk '/Build ID/ { print $3 }')
	grep -q "^$id .*/programs/$name.elf" "$dir/buildids" || fail "no build id of $name.elf"
done
[ $failed -eq 0 ] || cat "$dir/report"
exit $failed
