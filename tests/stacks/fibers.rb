# SPDX-License-Identifier: MIT
# Fibers resumed in a changing order, an enumerator, an exception out of a fiber, fibers in threads.
n, r = 40, 300
def work(k, r) s = 0; r.times { |i| s += [k, i].sort_by { |x| Fiber.yield(x) if i % 5 == 0; x }.sum; Fiber.yield(s) if i % 3 == 0 }; s end
fs = (0...n).map { |k| Fiber.new { begin; work(k, r); rescue => e; 0; end; raise "x" if k == 3; 1 } }
tot = 0; q = fs.dup; x = 7; err = 0
until q.empty?
  x = (x * 1103515245 + 12345) & 0x7fffffff; f = q[x % q.size]
  begin; tot += f.resume || 0; rescue => e; err += 1; end
  q.delete(f) unless f.alive?
end
e = Enumerator.new { |y| 2000.times { |i| y << i } }
s = 0; begin; loop { s += e.next }; end
ths = 4.times.map { |t| Thread.new { own = Fiber.new { 200.times { |i| Fiber.yield i }; :d }; c = 0; while (v = own.resume) != :d; c += v; end; c } }
puts "#{tot} #{err} #{s} #{ths.map(&:value).sum}"
