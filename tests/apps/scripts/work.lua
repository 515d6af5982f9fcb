-- SPDX-License-Identifier: MIT
-- Coroutines, errors through C frames (longjmp), collection, strings, closures, metatables.
local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0
for i in numbers(20000) do sum = sum + i end
print(sum)
local caught = 0
for i = 1, 5000 do
    if not pcall(function() if i % 3 == 0 then error({ i }) end return ("x"):rep(i % 50):upper():gsub("X", "y") end) then caught = caught + 1 end
end
print(caught)
local weak = setmetatable({}, { __mode = "v" })
for i = 1, 1000 do weak[i] = setmetatable({}, { __gc = function() end }) end
collectgarbage() collectgarbage()
print(next(weak))
local t = {}
for i = 1, 20000 do t[i] = (i * 7919) % 10007 end
table.sort(t, function(a, b) return a < b end)
print(t[1], t[#t], select('#', table.unpack(t, 1, 200)))
print(pcall(string.rep, "x", -1), string.format("%5.2f|%q|%x", math.pi, "a\nb", 255))
print(pcall(function() local function deep(n) return 1 + deep(n + 1) end return deep(1) end) and 1 or "overflow")
local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() print("closed") end }) coroutine.yield(1) end)
print(coroutine.resume(co), coroutine.close(co), coroutine.status(co))
print(#io.popen("echo from a child"):read("a"), load("return 6 * 7")())
