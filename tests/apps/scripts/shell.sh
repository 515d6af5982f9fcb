# SPDX-License-Identifier: MIT
# What bash can do: arrays, functions, subshells, coprocesses, traps, job control, redirections; and small tools around it.
shopt -s extglob
declare -A h
for i in {1..500}; do h[$i]=$((i * i)); done
echo ${#h[@]} ${h[77]}
f() {
    local n=$1
    ((n < 2)) && { echo "$n"; return; }
    echo $(($(f $((n - 1))) + $(f $((n - 2)))))
}
f 5
coproc cat
coprocess=$COPROC_PID # the variable goes when the process does
echo hello >&"${COPROC[1]}"
read -r x <&"${COPROC[0]}"
echo "$x"
exec {COPROC[1]}>&-
wait "$coprocess"
trap 'echo exit' EXIT
trap 'echo usr1' USR1
kill -USR1 $$
while read -r a b; do echo "$b $a"; done < <(printf '%s\n' '1 2' '3 4')
(ulimit -n 40; ls /proc/self/fd | wc -l)
printf '%s\n' {a..z} | sort -r | paste -sd, | tr a-z A-Z
[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo "${BASH_REMATCH[@]}"
for i in 1 2 3; do sleep 0.1 & done
wait; echo $?
(exit 3); echo $?
{ bash -c 'kill -9 $$'; } 2>/dev/null; echo $?
exec 7>t; echo to7 >&7; exec 7>&-; cat t; rm t
echo "${x^^} ${x:1:2} ${x//l/L}"
printf '%(%Y)T\n' 0
timeout 1 sleep 30; echo $?
set -o pipefail; false | true; echo $?
eval 'echo $((0x1f ** 2))'
case foobar in +(foo|bar)) echo match ;; esac
seq 4 | xargs -n1 -P4 echo | sort
awk 'BEGIN { for (i = 0; i < 1e5; i++) s += i; print s }'
sed -n '/root/p' /etc/passwd | head -1
diff <(echo a) <(echo b)
date -u -d @0 +%F
env -i /bin/echo clean
perl -e 'fork() || exit 7; wait; print $? >> 8, "\n"'
