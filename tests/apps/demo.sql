-- SPDX-License-Identifier: MIT
-- A working day of a small shop: orders are entered, indexed, joined, sorted, changed and thrown away again.
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id), amount INTEGER, note TEXT);
BEGIN;
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO customer SELECT i, 'customer ' || i, 'city ' || (i * 7919 % 97) FROM n;
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO orders SELECT i, i * 104729 % 2000 + 1, i * 31337 % 10007, hex(i * 2654435761) FROM n;
COMMIT;
CREATE INDEX by_customer ON orders(customer, amount);
SELECT city, count(*), sum(amount) FROM customer JOIN orders ON orders.customer = customer.id
GROUP BY city ORDER BY sum(amount) DESC, city LIMIT 5;
SELECT name, max(amount) FROM customer JOIN orders ON orders.customer = customer.id
WHERE note LIKE '%3939%' GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5;
UPDATE orders SET amount = amount + 1 WHERE customer % 10 = 3;
DELETE FROM orders WHERE amount % 3 = 0;
SELECT count(*), sum(amount), min(length(note)), max(note) FROM orders;
