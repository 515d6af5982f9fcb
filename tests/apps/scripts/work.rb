# SPDX-License-Identifier: MIT
# Exceptions and throw (longjmp), fibers, threads, collection and compaction, regular expressions, processes, extensions in C.
require 'digest'
require 'json'
require 'set'
require 'socket'
require 'stringio'
require 'zlib'
require 'bigdecimal'
require 'openssl'
caught = 0
3000.times { |i| begin; raise ArgumentError, i.to_s if i % 3 == 0; Integer("x#{i}"); rescue ArgumentError; caught += 1; ensure; caught += 1; end }
p caught, catch(:found) { 100.times { |i| [1].each { throw :found, i if i == 77 } } }
fibers = Array.new(200) { |i| Fiber.new { |x| loop { x = Fiber.yield(x + i) } } }
p 5.times.sum { |k| fibers.sum { |f| f.resume(k) } }
e = Enumerator.new { |y| a, b = 0, 1; loop { y << a; a, b = b, a + b } }
p e.lazy.select(&:even?).first(10), e.next, e.next, e.peek
def deep(n) = deep(n + 1) + 1
begin; deep(0); rescue SystemStackError => x; p x.class; end
queue, results = Thread::Queue.new, Thread::Queue.new
workers = Array.new(4) { Thread.new { while (n = queue.pop) != :end; results << Digest::SHA256.hexdigest(n.to_s * 50)[0, 4]; end } }
1000.times { |n| queue << n }
4.times { queue << :end }
workers.each(&:join)
p Digest::MD5.hexdigest(Array.new(results.size) { results.pop }.sort.join)
killed = Thread.new { begin; sleep; ensure; p :ensured; end }
Thread.pass until killed.stop?
killed.kill.join
begin; Thread.new { Thread.current.report_on_exception = false; raise 'in a thread' }.join; rescue => x; p x.message; end
GC.stress = true
p Array.new(30) { |i| { i => "s#{i}" * 3 } }.to_s.size
GC.stress = false
20.times { Array.new(20000) { |i| [i.to_s] } ; GC.start }
GC.compact if GC.respond_to?(:compact)
ObjectSpace.each_object(Class).count.positive? and p :classes
p JSON.generate((1..300).to_h { |i| ["k#{i}", [i, i / 3.0, nil]] }).size, Zlib.inflate(Zlib.deflate('ab' * 50000)).size
p 'aXbYc' * 3 =~ /(?<x>[A-Z])(?!b)/, $~[:x], 'äöü'.encode('UTF-16').bytesize, "%.10g" % Math::PI, BigDecimal('1').div(7, 30).to_s, 3**200
p OpenSSL::HMAC.hexdigest('SHA256', 'k', 'v'), Set.new([1, 2]).subset?(Set.new([1, 2, 3])), Comparable.instance_methods.sort.first
r, w = IO.pipe
pid = fork { r.close; w.write('from a child'); w.close; exit!(3) }
w.close
p r.read, Process.wait2(pid)[1].exitstatus, `echo from a shell`, system('exit 4'), $?.exitstatus
trap('USR1') { puts 'usr1' }
Process.kill('USR1', Process.pid)
sleep 0.05
server = TCPServer.new('127.0.0.1', 0)
echo = Thread.new { 50.times { c = server.accept; c.write(c.gets.upcase); c.close } }
p 50.times.map { |i| s = TCPSocket.new('127.0.0.1', server.addr[1]); s.puts("line #{i}"); l = s.read; s.close; l }.uniq.size
echo.join
ractor = Ractor.new { Ractor.receive * 2 } rescue nil
p ractor.send(21).take
at_exit { puts 'at exit' }
