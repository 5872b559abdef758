-- What the SQL engine does: a table of 25,000 rows, two indices, joins, groups, updates, a check. It has no files.
PRAGMA temp_store = memory;
CREATE TABLE items(id INTEGER PRIMARY KEY, number INTEGER, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
INSERT INTO items SELECT i, (i * 7919) % 100003, 'item ' || ((i * 7919) % 100003) || ' of ' || i FROM n;
CREATE INDEX by_number ON items(number);
CREATE INDEX by_name ON items(name);
CREATE TABLE groups AS
SELECT number % 100 AS part, count(*) AS many, avg(id) AS mean, max(name) AS last FROM items GROUP BY part ORDER BY many DESC, part;
CREATE TABLE joined AS
SELECT a.id, b.name FROM items a JOIN items b ON a.number = b.id WHERE a.name LIKE '%77%' OR b.name GLOB '*1?3*';
UPDATE items SET name = upper(name) WHERE number % 3 = 0;
DELETE FROM items WHERE number % 5 = 0;
CREATE TABLE sums AS
SELECT substr(name, 6, 2) AS head, sum(length(name)) AS length FROM items WHERE name BETWEEN 'ITEM 1' AND 'item 7' GROUP BY head;
SELECT count(*) FROM items a, groups g WHERE a.number % 100 = g.part AND a.id > g.mean;
PRAGMA integrity_check;
