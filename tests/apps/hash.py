# SPDX-License-Identifier: MIT
"""hash.py N: feeds N blocks to SHA-256, by OpenSSL's libcrypto, and prints the digest."""
import _hashlib
import sys

state = _hashlib.new('sha256')
for number in range(int(sys.argv[1])):
    state.update(b'block %d' % number)
print(state.hexdigest())
