# SPDX-License-Identifier: MIT
# Git's operations on a clone of the repository at $1 (or on a made one, where there is none). Nothing printed may depend on
# time or place.
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z GIT_CONFIG_GLOBAL=/dev/null
git clone -q -c safe.directory='*' "$1" r 2>/dev/null || {
    git init -q -b main r && cd r
    for n in 1 2 3 4 5 6; do
        seq $n 2000 >"file$n" && git add . && git commit -q -m "commit $n"
    done
    cd ..
}
cd r || exit 1
git checkout -q -B main
git log -p --stat | sha256sum
git gc -q --prune=now
git fsck --full --strict 2>&1 | grep -v '^dangling'
git checkout -q -b topic HEAD~3 && echo 1 >new && git add new && git commit -q -m new
git rebase -q main && git rev-parse HEAD
git blame "$(git ls-files | head -1)" | sha256sum
git grep -c e | sha256sum
git archive HEAD | sha256sum
git format-patch -q --stdout HEAD~2 | git apply --stat
git bundle create -q ../b HEAD && git bundle verify -q ../b; echo $?
git diff HEAD~3 --stat | tail -1
git cherry-pick -n HEAD~1 >/dev/null 2>&1; git stash -q; git stash list | wc -l; git status --short

# A fault that a bisection finds, a rebase over many commits with a program run after each, a merge with a conflict, other clones.
first=$(git rev-list --max-parents=0 HEAD | tail -1)
count=$(git rev-list --first-parent --count HEAD)
wanted=$(git rev-list --first-parent HEAD | sed -n "$((count / 3))p")
git bisect start --first-parent HEAD "$first" >/dev/null 2>&1
git bisect run sh -c "! git merge-base --is-ancestor $wanted HEAD" 2>&1 | grep -c 'is the first bad commit'
[ "$(git rev-parse bisect/bad)" = "$wanted" ] && echo found
git bisect reset >/dev/null 2>&1
from=$(git rev-list --no-merges --first-parent HEAD | sed -n "20p;\$p" | head -1)
git checkout -q -b many && git rebase -q --exec 'git diff --quiet' --force-rebase "$from" 2>&1 | tail -3
git rebase --abort 2>/dev/null; git rev-parse 'HEAD^{tree}'
git checkout -q main && echo ours >conflict && git add . && git commit -q -m ours
git checkout -q -b theirs HEAD~1 && echo theirs >conflict && git add . && git commit -q -m theirs && git merge -q main 2>&1; git status --short
git checkout -q --ours conflict && git add . && git commit -q -m merged && git rev-parse HEAD
git log --graph --oneline --all | sha256sum
git shortlog -s HEAD | wc -l
git repack -q -a -d -f --depth=20 --window=20 && git count-objects -v | grep -v -e size -e '^in-pack' && git commit-graph write --reachable && git fsck 2>&1 | grep -v dangling
git clone -q --no-local --depth 3 "file://$PWD" ../s 2>&1 && git -C ../s log --format=%H | wc -l
git worktree add -q ../w HEAD~1 && git -C ../w rev-parse HEAD && git worktree remove ../w
git fast-export --all --signed-tags=strip | git -C "$(git init -q --bare ../f && echo ../f)" fast-import --quiet && git -C ../f rev-parse main
git log -S main --oneline -- . | wc -l
cd .. && rm -rf r b s f
