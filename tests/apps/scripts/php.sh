# SPDX-License-Identifier: MIT
# A program of many parts, with and without the bytecode's cache and compiler, and the built-in web server.
php -n -d precision=14 "$1" 2>&1 | sed "s:$1:work.php:"
php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M -d opcache.jit=tracing -d display_errors=0 -d log_errors=0 "$1" 2>&1
echo '<?php echo array_sum(range(1, (int) $_GET["n"]));' >page.php
port=$((20000 + RANDOM % 12000))
PHP_CLI_SERVER_WORKERS=2 php -q -S 127.0.0.1:$port -t . >/dev/null 2>&1 &
server=$!
fetch() { exec 3<>/dev/tcp/127.0.0.1/$port && printf 'GET /page.php?n=%s HTTP/1.0\r\n\r\n' "$1" >&3 && tail -1 <&3 && exec 3>&-; }
for wait in $(seq 100); do fetch 1 >/dev/null 2>&1 && break; sleep 0.2; done
for n in $(seq 30); do fetch "$n"; echo; done
kill $server
wait $server
rm page.php
