// SPDX-License-Identifier: MIT
const crypto = require('crypto'), zlib = require('zlib'), { Worker } = require('worker_threads'), { execFileSync } = require('child_process');
const hash = crypto.createHash('sha256');
for (let i = 0; i < 20000; i++) hash.update('x' + i);
console.log(hash.digest('hex'));
const rows = [];
for (let i = 0; i < 100000; i++) rows.push({ i, s: 'k' + i });
rows.sort((x, y) => y.i - x.i);
console.log(rows.length, JSON.stringify(rows).length, JSON.parse(JSON.stringify(rows)).length);
console.log(zlib.inflateSync(zlib.deflateSync(Buffer.alloc(1e6, 'ab'))).length);
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
console.log(fib(24), crypto.createSign('sha256').update('x').sign(crypto.generateKeyPairSync('ed25519').privateKey ? crypto.generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey : '').length);
try { null.x } catch (e) { console.log(e.message) }
const deep = n => 1 + deep(n + 1);
try { deep(0) } catch (e) { console.log(e.constructor.name) }
console.log(execFileSync('echo', ['from a child']).toString());
const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
worker.on('message', m => {
    console.log(m);
    const server = require('http').createServer((q, a) => a.end('served'));
    server.listen(0, '127.0.0.1', () => require('http').get({ port: server.address().port, host: '127.0.0.1' }, a => {
        a.on('data', d => { console.log(String(d)); server.close() });
    }));
});
