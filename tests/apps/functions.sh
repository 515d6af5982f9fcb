# SPDX-License-Identifier: MIT
# Functions, arithmetic, subshells, pipes and traps. Prints lines that must not change.
add() { local i s=0; for ((i = 0; i < $1; i++)); do s=$((s + i)); done; echo "$s"; }
trap 'echo trapped; exit 5' USR1
for n in 1 2 3 4 5; do add $((n * 10)); done
x=$(add 3; exit 3); echo "$x $?"
printf '%s\n' c a b | sort | tr -d '\n'; echo
kill -USR1 $$
