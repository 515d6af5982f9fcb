<?php
// SPDX-License-Identifier: MIT
// Exceptions, generators, fibers (stacks switched by assembly), sorting, regular expressions, collection, processes.
function numbers($n) { for ($i = 0; $i < $n; $i++) { $x = yield $i => $i * 2; if ($x) echo "got $x\n"; } return 'done'; }
$g = numbers(1000);
$sum = 0;
foreach ($g as $k => $v) $sum += $k + $v;
echo $sum, ' ', $g->getReturn(), "\n";
$caught = 0;
for ($i = 0; $i < 5000; $i++) {
    try { if ($i % 3 == 0) throw new DomainException("e$i"); intdiv(1, $i % 2); }
    catch (DivisionByZeroError | DomainException $e) { $caught++; } finally { $caught++; }
}
echo $caught, "\n";
$fibers = [];
for ($i = 0; $i < 300; $i++) {
    $fibers[$i] = new Fiber(function ($x) use ($i) { while ($x < 1000) $x = Fiber::suspend($x + $i); throw new Exception("fiber $i"); });
    $fibers[$i]->start($i);
}
$sum = 0;
for ($k = 0; $k < 20; $k++) foreach ($fibers as $f) $sum += $f->resume($k);
try { $fibers[7]->resume(1000); } catch (Exception $e) { echo $e->getMessage(), "\n"; }
unset($fibers);
gc_collect_cycles();
echo $sum, "\n";
$a = range(1, 20000);
mt_srand(7);
shuffle($a);
usort($a, fn($x, $y) => $y <=> $x);
echo $a[0], ' ', array_sum(array_map(fn($x) => $x % 7, array_filter($a, fn($x) => $x & 1))), "\n";
for ($i = 0; $i < 3000; $i++) { $o = new stdClass; $o->self = $o; $o->pad = str_repeat('x', 100); }
echo gc_collect_cycles() > 0 ? 'collected' : 'none', "\n";
echo preg_replace_callback('/(\w)(\d+)/', fn($m) => strtoupper($m[1]) . ($m[2] + 1), 'a1 b22 c333'), "\n";
echo preg_match_all('/(?<w>\b\p{Lu}\w*)/u', 'Äpfel und Birnen Zoo', $m), ' ', implode(',', $m['w']), "\n";
echo hash('sha256', serialize(unserialize(serialize($a)))), ' ', crc32(json_encode($a)), "\n";
echo strlen(json_encode(json_decode(json_encode(array_fill(0, 500, ['k' => 1.5, 'l' => [null, true]])), true))), "\n";
echo date('Y-m-d', 0), ' ', (new DateTime('2020-02-29'))->modify('+1 year')->format('D Y-m-d'), ' ', number_format(M_PI, 8), "\n";
echo shell_exec('echo from a shell'), password_verify('x', password_hash('x', PASSWORD_BCRYPT, ['cost' => 4])) ? 'verified' : 'no', "\n";
$p = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], 'through a child'); fclose($pipes[0]);
echo stream_get_contents($pipes[1]), ' ', proc_close($p), "\n";
set_error_handler(function ($n, $text) { echo "handled: $text\n"; return true; });
echo $undefined ?? 'null', @$nothing, strpos('abc', 'c'), "\n";
echo $missing;
usort($a, function ($x, $y) { static $n = 0; if ($n++ == 100) throw new Exception('out of a sort'); return $x <=> $y; });
