// SPDX-License-Identifier: MIT
// Node's own test runner over threads, shared memory, WebAssembly (calls, traps, errors of JavaScript through its frames),
// streams, child processes and optimized code that is thrown away again.
import test from 'node:test';
import assert from 'node:assert';
import { Worker } from 'node:worker_threads';
import { createGzip, createGunzip } from 'node:zlib';
import { createHash, pbkdf2Sync, scrypt } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { AsyncLocalStorage } from 'node:async_hooks';
import vm from 'node:vm';

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const fibonacci = new Uint8Array([...header, 1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f, 3, 2, 1, 0, 7, 7, 1, 3, 0x66, 0x69, 0x62, 0, 0, 10, 30, 1, 28, 0,
    0x20, 0, 0x41, 2, 0x48, 4, 0x7f, 0x20, 0, 5, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x20, 0, 0x41, 2, 0x6b, 0x10, 0, 0x6a, 0x0b, 0x0b]);
const calling = new Uint8Array([...header, 1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, 0x6d, 1, 0x66, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 0x67, 0, 1,
    10, 6, 1, 4, 0, 0x10, 0, 0x0b]);
const trapping = new Uint8Array([...header, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 0x67, 0, 0, 10, 5, 1, 3, 0, 0, 0x0b]);

test('wasm', async () => {
    const { instance } = await WebAssembly.instantiate(fibonacci);
    assert.equal(instance.exports.fib(24), 46368);
    assert.throws(() => { for (;;) instance.exports.fib(1e9); }, RangeError);
    const bad = new WebAssembly.Instance(new WebAssembly.Module(trapping));
    assert.throws(bad.exports.g, WebAssembly.RuntimeError);
    let count = 0;
    const good = new WebAssembly.Instance(new WebAssembly.Module(calling), { m: { f() { if (++count % 3 == 0) throw new Error('through'); } } });
    let caught = 0;
    for (let i = 0; i < 3000; i++) try { good.exports.g(); } catch { caught++; }
    assert.equal(caught, 1000);
});

test('workers and shared memory', async () => {
    const shared = new Int32Array(new SharedArrayBuffer(16));
    const code = `const { workerData: s, parentPort: p } = require('worker_threads'); let garbage;
        for (let i = 0; i < 20000; i++) { Atomics.add(s, 0, 1); garbage = new Array(50).fill({ i }); }
        const w = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${fibonacci}])));
        p.postMessage(w.exports.fib(20)); if (Atomics.add(s, 1, 1) == 3) Atomics.notify(s, 2);`;
    const answers = await Promise.all([1, 2, 3, 4].map(() => new Promise((done, failed) => {
        const worker = new Worker(code, { eval: true, workerData: shared, resourceLimits: { maxOldGenerationSizeMb: 64 } });
        let answer;
        worker.on('message', m => answer = m).on('error', failed).on('exit', () => done(answer));
    })));
    assert.deepEqual([...answers, shared[0]], [6765, 6765, 6765, 6765, 80000]);
});

test('a worker that is ended, and one that fails', async () => {
    const endless = new Worker('for (;;);', { eval: true });
    await new Promise(done => endless.on('online', done));
    assert.equal(await endless.terminate(), 1);
    const failing = new Worker('throw new TypeError("x")', { eval: true });
    assert.equal((await new Promise(done => failing.on('error', done))).message, 'x');
});

test('streams, ciphers and threads of the pool', async () => {
    const hash = createHash('sha256');
    await pipeline(Readable.from((function* () { for (let i = 0; i < 3000; i++) yield 'line ' + i; })()), createGzip(), createGunzip(), hash);
    const expected = createHash('sha256');
    for (let i = 0; i < 3000; i++) expected.update('line ' + i);
    assert.equal(hash.digest('hex'), expected.digest('hex'));
    const keys = await Promise.all(Array.from({ length: 8 }, (_, i) => promisify(scrypt)('x', 's' + (i & 1), 16, { N: 1024 })));
    assert.equal(new Set(keys.map(String)).size, 2);
    assert.equal(pbkdf2Sync('x', 's', 1000, 8, 'sha1').length, 8);
});

test('processes and their messages', async () => {
    const { stdout } = await promisify(execFile)('sh', ['-c', 'echo $((6 * 7))']);
    assert.equal(stdout, '42\n');
    await assert.rejects(promisify(execFile)('false'), { code: 1 });
});

test('generators, closures, deoptimization, collection', async () => {
    const add = (x, y) => x + y;
    let sum = 0;
    for (let i = 0; i < 200000; i++) sum = add(sum, i);
    assert.equal(add(sum, 'x'), '19999900000x');
    function* walk(n) { if (n > 0) { yield* walk(n - 1); yield n; yield* walk(n - 1); } }
    assert.equal([...walk(12)].length, 4095);
    const registry = new FinalizationRegistry(() => {});
    for (let i = 0; i < 100000; i++) { const o = { i, a: [i] }; if (i % 1000 == 0) registry.register(o, i); }
    global.gc?.();
    assert.match('x'.repeat(2000) + 'y', /^(x+x+)+y/);
    const storage = new AsyncLocalStorage();
    assert.equal(await storage.run(7, async () => { await null; return storage.getStore(); }), 7);
    assert.throws(() => vm.runInNewContext('for (;;);', {}, { timeout: 50 }), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
});
