// SPDX-License-Identifier: MIT
import java.lang.ref.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.zip.*;

/** Many threads in a small heap: collections stop them everywhere, in native code and in waits too. */
public class Threads {
    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
    static volatile Object sink;

    static long work(int seed) throws Exception {
        Random random = new Random(seed);
        List<byte[]> kept = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < 4000; i++) {
            byte[] block = new byte[200 + random.nextInt(4000)];
            block[0] = (byte) i;
            if (i % 16 == 0) kept.add(block);
            if (kept.size() > 200) kept.subList(0, 100).clear();
            try { if (i % 5 == 0) throw new IllegalStateException("e" + i); sum += block[0]; }
            catch (IllegalStateException why) { sum += why.getMessage().length(); }
            if (i % 500 == 0) {
                sum += deep(2000);
                Deflater deflater = new Deflater();
                deflater.setInput(new byte[20000]);
                deflater.finish();
                sum += deflater.deflate(new byte[1000]);
                deflater.end();
                CRC32 crc = new CRC32();
                crc.update(kept.get(0));
                sum += crc.getValue() & 0xff;
            }
            sink = block;
        }
        return sum;
    }

    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> futures = new ArrayList<>();
        for (int i = 0; i < 16; i++) { int seed = i; futures.add(pool.submit(() -> work(seed))); }
        long sum = 0;
        for (Future<Long> future : futures) sum = sum * 31 + future.get();
        pool.shutdown();
        System.out.println(sum);

        ConcurrentHashMap<Integer, LongAdder> map = new ConcurrentHashMap<>();
        ForkJoinPool.commonPool().submit(() -> java.util.stream.IntStream.range(0, 300000).parallel()
            .forEach(x -> map.computeIfAbsent(x % 101, k -> new LongAdder()).add(x))).get();
        System.out.println(map.values().stream().mapToLong(LongAdder::sum).sum());

        Object lock = new Object();
        int[] turn = {0};
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            int mine = i;
            (threads[i] = new Thread(() -> {
                for (int k = 0; k < 250; k++) synchronized (lock) {
                    while (turn[0] % 4 != mine) try { lock.wait(); } catch (InterruptedException why) { return; }
                    turn[0]++;
                    lock.notifyAll();
                }
            })).start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(turn[0]);

        Thread sleeper = new Thread(() -> {
            try { Thread.sleep(100000); } catch (InterruptedException why) { System.out.println("interrupted"); }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();

        WeakReference<Object> weak = new WeakReference<>(new Object());
        for (int i = 0; i < 100 && weak.get() != null; i++) System.gc();
        System.out.println(weak.get());
        List<byte[]> all = new ArrayList<>();
        try { for (;;) all.add(new byte[1 << 20]); } catch (OutOfMemoryError why) { all = null; System.out.println("no memory"); }
        System.out.println(new ProcessBuilder("sh", "-c", "exit 5").start().waitFor());
    }
}
