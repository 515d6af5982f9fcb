# SPDX-License-Identifier: MIT
# A server of two workers: files, compression, TLS, a proxy to itself with a cache, new workers by a signal, and an end that waits.
mkdir -p www logs cache
for n in $(seq 40); do seq $((n * 50)) >www/f$n; done
port=$((20000 + RANDOM % 12000))
openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=x -days 3 2>/dev/null
cat >conf <<END
daemon off; worker_processes 2; user root; pid $PWD/logs/pid; error_log $PWD/logs/error warn;
events { worker_connections 64; }
http {
    access_log $PWD/logs/access; root $PWD/www; gzip on; gzip_types *; gzip_min_length 1; sendfile on; aio threads;
    client_body_temp_path cache/a; proxy_temp_path cache/b; fastcgi_temp_path cache/c; uwsgi_temp_path cache/d; scgi_temp_path cache/e;
    proxy_cache_path $PWD/cache/p keys_zone=z:1m;
    server { listen 127.0.0.1:$port; listen 127.0.0.1:$((port + 1)) ssl; ssl_certificate $PWD/c; ssl_certificate_key $PWD/k;
        location /again/ { proxy_pass http://127.0.0.1:$port/; proxy_cache z; proxy_cache_valid 200 1h; }
        location /gone { return 410 "gone\n"; } location /list/ { autoindex on; alias $PWD/www/; autoindex_exact_size off; } }
}
END
nginx -p "$PWD" -e logs/error -t -c "$PWD/conf" >/dev/null 2>&1; echo tested $?
nginx -p "$PWD" -e logs/error -c "$PWD/conf" &
for wait in $(seq 100); do curl -sf 127.0.0.1:$port/f1 >/dev/null && break; sleep 0.2; done
get() { curl -s --max-time 60 "$@" | sha256sum; }
load() {
    get "http://127.0.0.1:$port/f[1-40]"
    get --compressed "http://127.0.0.1:$port/f[1-40]"
    get -k --parallel-max 1 "https://127.0.0.1:$((port + 1))/f[1-40]"
    get "http://127.0.0.1:$port/again/f[1-40]"
    get -H 'Range: bytes=10-99' "http://127.0.0.1:$port/f[1-40]"
    get -w '%{http_code} %{size_download}\n' -o /dev/null "http://127.0.0.1:$port/{f1,none,gone,list/,again/f2,../../etc/passwd}"
}
load
for n in 1 2 3 4; do load >load$n & loads="$loads $!"; done
sleep 0.3
kill -HUP "$(cat logs/pid)"
wait $loads
sha256sum load?
kill -USR1 "$(cat logs/pid)"
load
kill -QUIT %1
wait %1
echo end $?
wc -l <logs/access
grep -v -e 'open() ".*" failed' -e 'signal process' logs/error
rm -r www logs cache conf k c load?
