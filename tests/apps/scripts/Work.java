// SPDX-License-Identifier: MIT
import java.util.*;
import java.util.stream.*;

public class Work {
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static int deep(int n) { return deep(n + 1) + 1; }

    public static void main(String[] words) throws Exception {
        System.out.println(fib(30));
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < 200000; i++) map.merge("k" + i % 977, i, Integer::sum);
        System.out.println(map.hashCode());
        System.out.println(IntStream.range(0, 1000000).parallel().mapToLong(x -> x * 3L).sum());
        try { ((Object) null).toString(); } catch (NullPointerException why) { System.out.println("null"); }
        try { deep(0); } catch (StackOverflowError why) { System.out.println("overflow"); }
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> {
                List<byte[]> blocks = new ArrayList<>();
                for (int k = 0; k < 3000; k++) { blocks.add(new byte[10000]); if (blocks.size() > 100) blocks.clear(); }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.gc();
        System.out.println(java.security.MessageDigest.getInstance("SHA-256").digest(new byte[1000000])[0]);
        Process child = new ProcessBuilder("echo", "from a child").start();
        System.out.println(new String(child.getInputStream().readAllBytes()).trim());
    }
}
