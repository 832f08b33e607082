#!/bin/sh
# Debian's own perf reads what `tally run -o` writes: nothing on stderr, the programs' function names, their shares
# within 1 % of what the workload states, every sample. Arguments: the program, the folder of scenarios, the scenario.
set -u
tally=$1
scenarios=$2
name=$3
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

# read_with OUTPUT COMMAND...: perf's answer goes to OUTPUT; stderr must stay empty.
read_with()
{
	output=$dir/$1
	shift
	(cd / && perf "$@" -i "$dir/perf.data") >"$output" 2>"$output.err" || fail "perf $*: exit status $?"
	[ -s "$output.err" ] && fail "perf $* wrote to stderr: $(cat "$output.err")"
}

# Lines "COMM OBJECT LEVEL FUNCTION SHARE" on stdin: the report's lines, all of them, with shares in percent.
check_shares()
{
	count=0
	while read -r comm object level function share; do
		count=$((count + 1))
		found=$(awk -v c="$comm" -v d="$object" -v l="[$level]" -v f="$function" \
			'$2 == c && $3 == d && $4 == l && $5 == f { sub("%", "", $1); print $1 }' "$dir/report")
		[ -n "$found" ] || fail "the report does not have $function of $comm"
		awk -v a="${found:-0}" -v b="$share" 'BEGIN { d = a - b; exit !(d < 1 && d > -1) }' ||
			fail "$comm $function: share $found %, the workload has $share %"
	done
	lines=$(awk '$1 ~ /%$/' "$dir/report" | wc -l)
	[ "$lines" -eq "$count" ] || fail "the report has $lines lines, expected $count"
}

# check_samples PATTERN COUNT: so many lines of the script begin with the name of a task that is PATTERN.
check_samples()
{
	found=$(awk -v c="$1" '$1 == c' "$dir/script" | wc -l)
	[ "$found" -eq "$2" ] || fail "perf script: $found samples of $1, expected $2"
}

"$tally" run "$scenarios/$name.yaml" -o "$dir/perf.data" >"$dir/table" || { cat "$dir/table"; exit 1; }
read_with script script
read_with buildids buildid-list
grep -q unknown "$dir/script" && fail "perf script does not know a function: $(grep -m1 unknown "$dir/script")"
for file in "$dir"/programs/*.elf; do
	id=$(readelf -n "$file" | awk '/Build ID/ { print $3 }')
	program=$(basename "$file")
	grep -q "$program" "$dir/buildids" || continue # nobody ran it
	grep -q "^$id .*/programs/$program" "$dir/buildids" || fail "$program has another build id in perf.data"
done

case $name in
profile)
	# Cycles of each function over all cycles, from the phases: 2256 and 1800 per us.
	read_with report report --stdio --sort comm,dso,symbol
	check_shares <<-END
		render render.elf . shade 29.653
		render render.elf . trace_ray 14.826
		render render.elf . main 4.942
		physics physics.elf . solve 29.653
		physics physics.elf . integrate 9.884
		audio audio.elf . mix 5.521
		audio audio.elf . filter 5.521
	END
	# 1128M, 902.4M and 252M cycles by 100,000
	check_samples render 11280
	check_samples physics 9024
	check_samples audio 2520
	;;
fork-exec)
	# 5 ms of the shell's, 40 of the compiler's, at the same rate
	read_with report report --stdio --sort comm,dso,symbol
	check_shares <<-END
		sh sh.elf . start_command 11.111
		cc [kernel] k load_elf_binary 4.444
		cc cc.elf . parse 22.222
		cc [kernel] k vfs_read 6.667
		cc cc.elf . optimize 44.444
		cc cc.elf . emit 11.111
	END
	# A sample every 10 us; the interrupt for the 500th comes after the exec, because it takes 300 ns.
	check_samples sh 499
	check_samples cc 4001
	;;
group-leader-sampling)
	# Each of the leader's samples gives a period to every member. They end with the last, at 264,000,000 cycles: the
	# whole work, 8 times 2 ms * 2200 + 8 ms * 6600 + 5 ms * 1100 instructions, and so on, by the phases.
	read_with report report --stdio --group
	grep -q "Samples: 5K of events 'anon group { cycles, instructions, branches, branch-misses }'" "$dir/report" ||
		fail "the report does not show the group"
	read_with periods script -F event,period
	for pair in cycles:264000000 instructions:501600000 branches:55880000 branch-misses:920000; do
		found=$(awk -v e="${pair%:*}:" '$2 == e { sum += $1 } END { printf "%d", sum }' "$dir/periods")
		[ "$found" -eq "${pair#*:}" ] || fail "${pair%:*}: the samples make $found, expected ${pair#*:}"
	done
	check_samples database 5280
	;;
*)
	fail "this script does not know what to expect of $name"
	;;
esac
[ $failed -eq 0 ] || cat "$dir/report"
exit $failed
