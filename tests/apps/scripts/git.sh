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
cd .. && rm -rf r b
