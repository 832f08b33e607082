#!/bin/sh
# explore_command_line.sh TALLY SCENARIOS: `tally explore`, `replay` and `shrink` as their users see them.
set -u
tally=$1 scenarios=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

expect() { # expect STATUS TEXT ARGS...: exit status, and a piece of what is printed
	status=$1 text=$2
	shift 2
	"$tally" "$@" --scenarios "$scenarios" >"$dir/out" 2>&1
	found=$?
	if [ "$found" != "$status" ] || ! grep -qF -- "$text" "$dir/out"; then
		printf 'tally %s\n  gives %s, expected %s and "%s":\n' "$*" "$found" "$status" "$text"
		sed 's/^/    /' "$dir/out" | head -n 20
		bad=1
	fi
}

expect 2 'is no plan, no file, and no scenario' explore races/there-is-none
expect 2 'expected what is to be explored' explore
expect 2 'PREEMPTIONS/INTERRUPTS/STALE' explore ring --bound 1/1
expect 2 'is not I/N' explore ring --shard 3/2
expect 2 'is no number' explore ring --runs many
expect 2 'none of exhaustive, random, pct' explore ring --strategy luck
expect 2 'unknown option' explore ring --nonsense
expect 2 'there is no mutant' explore ring --mutant head-early
expect 0 'within 1 preemption, 1 interrupt, 1 stale read: no violation' explore ring --bound 1/1/1
expect 0 '500 random runs from seed 3: no violation' explore races/key-edit --strategy random --runs 500 --seed 3 -j 1
expect 0 'PCT runs from seed 3: no violation' explore races/key-edit --strategy pct --runs 500 --seed 3 -j 2
expect 3 'stopped after 20 runs within' explore races/key-edit --bound 2/2/1 --runs 20 -j 1

# shards are parts of the whole, and workers share it
expect 0 'no violation' explore races/key-edit --bound 2/2/1 -j 1 --result "$dir/all"
for i in 1 2 3; do
	expect 0 "(shard $i of 3)" explore races/key-edit --bound 2/2/1 --shard "$i/3" -j 2 --result "$dir/parts"
done
all=$(awk '{ n += $7 } END { print n }' "$dir/all") parts=$(awk '{ n += $7 } END { print n }' "$dir/parts")
if [ "$all" != "$parts" ] || [ "$all" -lt 50 ]; then
	echo "the shards made $parts runs, the whole $all"
	bad=1
fi

# a scenario that asks for what cannot be, if a second CPU comes first
sed 's/^explore:/expect:\n  E: {value: 7}\nexplore:/' "$scenarios/races/key-edit.yaml" >"$dir/wrong.yaml"
expect 1 'FOUND after' explore "$dir/wrong.yaml" --bound 1/1/1 -j 1 --quiet
trace=$(grep -m 1 '^tally1/' "$dir/out")
expect 1 'value is' replay "$trace"
expect 0 "tally1/" shrink "$trace"
expect 2 'there is nothing to shrink' shrink 'tally1/ring/cfg=2cpu/core=0'
expect 0 'nothing wrong' replay 'tally1/ring/cfg=2cpu/core=0'
expect 2 'stale trace: step 9999' replay 'tally1/ring/cfg=2cpu/core=0 c9999'
expect 2 'a trace begins with' replay 'tally7/ring'
expect 2 'is not known' replay 'tally1/ring/cfg=3moons/core=0'
expect 2 'deviations stand in the order' replay 'tally1/ring/cfg=2cpu/core=0 c5 c4'
exit "$bad"
