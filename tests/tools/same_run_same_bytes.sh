#!/bin/sh
# A run is a function of scenario and seed: the same one gives the same output, the same perf.data and the same ELF
# files; and the reset state of the PMUs (--seed) changes no count. Arguments: the program, the folder of scenarios.
set -eu
tally=$1
scenarios=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/run"
cd "$dir/run" # the same paths both times: perf.data names the ELF files by their paths

for k in 1 2; do
	"$tally" run "$scenarios/profile.yaml" -o perf.data >"$dir/table.$k"
	tar -cf - --mtime=@0 perf.data programs >"$dir/files.$k.tar"
	rm -r perf.data programs
done
cmp "$dir/table.1" "$dir/table.2"
cmp "$dir/files.1.tar" "$dir/files.2.tar"

for seed in 5 6; do
	"$tally" run --seed $seed "$scenarios/rk3588-multiplex.yaml" | sed "s/seed $seed/seed N/" >"$dir/seed.$seed"
done
cmp "$dir/seed.5" "$dir/seed.6"
