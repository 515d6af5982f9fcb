# SPDX-License-Identifier: MIT
# Node's test runner, each file in a process of its own; with an ordinary heap, a small one that is collected often, and all code
# optimized at once. Durations and their order are not compared.
for options in '' '--expose-gc --max-semi-space-size=1' '--always-turbofan'; do
    node $options --test --test-reporter=tap "$1" 2>&1 | grep -v -e duration_ms -e '^ *\.\.\.$' -e '^ *---$' -e Subtest | grep -e ok -e '^# ' | sed "s:$1:suite:"
done
