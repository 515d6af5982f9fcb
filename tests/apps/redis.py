# SPDX-License-Identifier: MIT
"""A redis server of one's own, on a socket in the test's folder, and as much of its protocol as is needed."""
import os
import re
import socket
import subprocess
import time

from suite.results import Failed
from suite.target import need


class Server:
    """Started with the given environment; `with` ends it by SHUTDOWN, so that it ends by itself."""

    def __init__(self, tools, folder, env):
        self.path = os.path.join('/tmp', f'wtm-redis-{os.getpid()}-{id(self):x}')  # a socket's path must be short
        self.log = open(os.path.join(folder, 'redis.log'), 'wb')
        self.err = open(os.path.join(folder, 'redis.err'), 'w+b')
        argv = [need('redis-server'), '--port', '0', '--unixsocket', self.path, '--save', '', '--appendonly', 'no',
                '--dir', folder, '--daemonize', 'no']
        self.process = subprocess.Popen(argv, env=tools.environment(env), stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.err, cwd=folder)
        self.status = None

    def __enter__(self):
        for _ in range(600):
            try:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.connect(self.path)
                self.stream = self.socket.makefile('rb')
                return self
            except OSError:
                self.socket.close()
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        self.process.kill()
        self.process.wait()
        raise Failed(f'redis-server did not come up, status {self.process.returncode}')

    def send(self, *words):
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words))

    def ask(self, *words):
        """Sends one command, gives its reply (a status, number or string)."""
        self.send(*words)
        line = self.stream.readline()
        if line[:1] == b'$':
            size = int(line[1:])
            return None if size < 0 else self.stream.read(size + 2)[:-2]
        return line.strip()

    def statistics(self, command):
        """How often the server did this command, rejected it, and failed at it, by its own count."""
        found = re.search(rb'cmdstat_%s:calls=(\d+),.*rejected_calls=(\d+),failed_calls=(\d+)' % command.encode(),
                          self.ask(b'INFO', b'commandstats'))
        return tuple(map(int, found.groups())) if found else None

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.send(b'SHUTDOWN', b'NOSAVE')
                self.status = self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.stream.close()
            self.socket.close()
            self.log.close()
            self.err.close()
            if os.path.exists(self.path):
                os.unlink(self.path)
