# SPDX-License-Identifier: MIT
# Digests, ciphers, macs and key derivation, keys, certificates, speed, and connections over loopback, of TLS 1.2 and 1.3, with
# session tickets and with a client's certificate.
openssl version -v
for what in digest-commands cipher-algorithms mac-algorithms kdf-algorithms key-managers providers disabled; do
    openssl list -$what | sha256sum
done
openssl ciphers -v | sha256sum
for d in $(openssl list -digest-commands); do openssl dgst -$d /bin/bash 2>&1 | sed 's/^[0-9A-F]*:error/error/'; done
for c in $(openssl list -cipher-commands | tr ' ' '\n' | grep -e 'aes-...-[cofe][^c]*$' -e chacha -e camellia-1 -e des -e aria-256); do
    openssl enc -"$c" -pbkdf2 -S 0102030405060708 -pass pass:x -in /bin/ls 2>&1 >e | sed 's/^[0-9A-F]*:error/error/'
    sha256sum <e
    openssl enc -d -"$c" -pbkdf2 -S 0102030405060708 -pass pass:x -in e 2>/dev/null | cmp - /bin/ls 2>&1
done
openssl mac -digest SHA256 -macopt hexkey:00112233 -in /bin/ls HMAC
openssl mac -cipher aes-128-cbc -macopt hexkey:00112233445566778899aabbccddeeff -in /bin/ls CMAC
openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt key:secret -kdfopt salt:salt -kdfopt info:label HKDF
openssl kdf -keylen 32 -kdfopt pass:x -kdfopt salt:salt -kdfopt n:1024 -kdfopt r:8 -kdfopt p:1 SCRYPT
openssl prime 170141183460469231731687303715884105727 18446744073709551557 18446744073709551559
for a in "RSA -pkeyopt rsa_keygen_bits:2048" "RSA-PSS" "EC -pkeyopt ec_paramgen_curve:P-256" "EC -pkeyopt ec_paramgen_curve:secp521r1" \
    ED25519 ED448 X25519 X448 "DH -pkeyopt group:ffdhe2048"; do
    openssl genpkey -algorithm $a -out k 2>/dev/null && openssl pkey -in k -check -noout 2>&1
done
openssl genpkey -algorithm X25519 -out k && openssl genpkey -algorithm X25519 -out q && openssl pkey -in k -pubout -out p &&
    openssl pkey -in q -pubout -out r && openssl pkeyutl -derive -inkey k -peerkey r -out s && openssl pkeyutl -derive -inkey q -peerkey p | cmp - s
openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=x -days 3 2>/dev/null
openssl verify -CAfile c c
openssl pkcs12 -export -in c -inkey k -passout pass:x -out q && openssl pkcs12 -in q -passin pass:x -nodes 2>&1 | grep -c BEGIN
echo text >m
openssl dgst -sha256 -sign k -out s m && openssl x509 -in c -pubkey -noout >p && openssl dgst -sha256 -verify p -signature s m
openssl cms -sign -nodetach -in m -signer c -inkey k -outform DER -out d && openssl cms -verify -inform DER -in d -CAfile c 2>&1
openssl speed -seconds 1 -bytes 1024 sha256 ecdsap256 2>/dev/null | grep -c -e '^sha256' -e ecdsa
openssl speed -seconds 1 -bytes 1024 -multi 2 -evp aes-128-gcm 2>/dev/null | grep -c '^AES-128-GCM'

ask() {
    printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -connect 127.0.0.1:$port -CAfile c "$@" 2>/dev/null
}
for try in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 12000))
    openssl s_server -accept 127.0.0.1:$port -cert c -key k -CAfile c -verify 1 -www -quiet >/dev/null 2>&1 &
    for wait in $(seq 60); do
        sleep 0.5
        ask | grep -q TLSv1.3 && break 2
        kill -0 $! 2>/dev/null || break
    done
done
# The server's page says the same lines again, if it comes in time; a ticket of TLS 1.3 may come too late.
for how in '-tls1_3' '-tls1_2' '-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256' '-tls1_2 -cipher AES128-SHA' '-cert c -key k' \
    '-tls1_2 -cipher ECDHE-RSA-AES256-GCM-SHA384' '-groups X448' '-groups P-384' '-tls1_2 -sess_out t' '-tls1_2 -sess_in t'; do
    ask $how | grep -a -e '^New, ' -e '^Reused, ' -e '^Server Temp' -e '^Verification' | sort -u
done
kill $! && echo connected
rm -f e k q r c s p m d t
