-- SPDX-License-Identifier: MIT
-- Coroutines in turn, and an error.
local n, r, tot = 40, 400, 0
local cs = {}
for k = 1, n do cs[k] = coroutine.wrap(function() for i = 1, r do local t = {}; for j = 1, 3 do t[j] = (i * j) % 7 end; table.sort(t, function(a, b) return a < b end); coroutine.yield(#t + i) end return -1 end) end
local left, x = n, 7
while left > 0 do for k = 1, n do if cs[k] then local v = cs[k](); if v == -1 then cs[k] = nil; left = left - 1 else tot = tot + v end end end end
local ok, e = pcall(function() error("x") end)
print(tot, ok)
