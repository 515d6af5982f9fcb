# SPDX-License-Identifier: MIT
# Digests, ciphers, keys, certificates, and a connection over loopback.
openssl version
openssl list -digest-commands | sha256sum
openssl ciphers -v | sha256sum
for d in md5 sha1 sha256 sha512 sha3-256 blake2b512; do openssl dgst -$d /bin/bash; done
for c in aes-128-cbc aes-256-ctr chacha20 camellia-128-cbc des-ede3-cbc; do
    openssl enc -$c -pbkdf2 -S 0102030405060708 -pass pass:x -in /bin/bash | tee e | sha256sum
    openssl enc -d -$c -pbkdf2 -S 0102030405060708 -pass pass:x -in e | cmp - /bin/bash
done
for a in "RSA -pkeyopt rsa_keygen_bits:2048" "EC -pkeyopt ec_paramgen_curve:P-256" ED25519 X25519; do
    openssl genpkey -algorithm $a -out k 2>/dev/null && openssl pkey -in k -check -noout 2>&1
done
openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=x -days 3 2>/dev/null
openssl verify -CAfile c c
echo text >m
openssl dgst -sha256 -sign k -out s m && openssl x509 -in c -pubkey -noout >p && openssl dgst -sha256 -verify p -signature s m
openssl cms -sign -nodetach -in m -signer c -inkey k -outform DER -out d && openssl cms -verify -inform DER -in d -CAfile c 2>&1
openssl speed -seconds 1 -bytes 1024 sha256 ecdsap256 2>/dev/null | grep -c -e '^sha256' -e ecdsa
for try in 1 2 3; do
    port=$((20000 + RANDOM % 12000))
    openssl s_server -accept 127.0.0.1:$port -cert c -key k -www -quiet >/dev/null 2>&1 &
    for wait in $(seq 60); do
        sleep 0.5
        printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -connect 127.0.0.1:$port -quiet 2>/dev/null | grep -q TLSv1.3 && break 2
        kill -0 $! 2>/dev/null || break
    done
done
kill $! && echo connected
rm -f e k c s p m d
