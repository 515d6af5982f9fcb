-- SPDX-License-Identifier: MIT
-- Small enough for a debugger to stop at every call.
CREATE TABLE t(i INTEGER, s TEXT);
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t SELECT i, 'row ' || i FROM n;
SELECT * FROM t WHERE i % 3 = 0;
SELECT count(*), max(s) FROM t;
