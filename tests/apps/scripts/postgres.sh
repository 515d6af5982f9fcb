# SPDX-License-Identifier: MIT
# A cluster of its own, made, used by several clients at once, stopped in three ways, restored. Root starts it as the user postgres.
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as() { runuser -u postgres -- "$programs/$1" "${@:2}"; }
sockets=$(mktemp -d /tmp/wtm-postgres-XXXXXX) # a socket's path must be short
chown postgres . "$sockets" || exit 1
as initdb -D data -k --no-sync -A trust -U postgres --locale=C.UTF-8 >init 2>&1
echo initdb $?
grep -v -e "$PWD" -e pg_ctl -e '^$' init
options="-k $sockets -c listen_addresses= -c fsync=off -c jit=on -c jit_above_cost=1000 -c log_timezone=UTC -c autovacuum_naptime=1"
start() { as pg_ctl -D data -w -t 300 -l log -o "$options" start >/dev/null; echo start $?; }
query() { as psql -h "$sockets" -X -q -A -t -U postgres "$@"; }
start
as pgbench -h "$sockets" -q -i -s 1 postgres >/dev/null 2>&1; echo load $?
for how in simple extended prepared; do
    as pgbench -h "$sockets" -n -M $how -c 4 -j 2 -t 250 --random-seed=7 postgres 2>&1 | grep -e 'actually processed' -e failed
done
cat >sql <<'END'
select count(*), sum(abalance), md5(string_agg(abalance::text, ',' order by aid)) from pgbench_accounts;
select count(*), sum(delta) from pgbench_history;
select bid % 2, count(*), avg(aid)::int, percentile_cont(0.5) within group (order by aid) from pgbench_accounts group by 1 order by 1;
set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
select count(*) from pgbench_accounts a join pgbench_accounts b on a.aid = b.aid + 1 where a.abalance <> b.abalance or a.aid % 3 = 0;
with recursive t(n, x) as (select 1, 1::numeric union all select n + 1, x * (n + 1) from t where n < 200) select md5(max(x)::text) from t;
select 1 / 0;
select pg_sleep(0.1);
set statement_timeout = 200; select pg_sleep(100); set statement_timeout = 0;
create function f(n int) returns int language plpgsql as $$ begin return n / 0; exception when division_by_zero then return -1; end $$;
select sum(f(n)) from generate_series(1, 5000) n;
create table j as select n, jsonb_build_object('k', n, 'l', array[n, n + 1]) as d, to_tsvector('english', 'word' || n || ' running') as v from generate_series(1, 3000) n;
create index on j using gin (d); create index on j using gin (v); analyze j;
select count(*) from j where d @> '{"k": 77}'; select count(*) from j where v @@ to_tsquery('english', 'run & word5');
select regexp_replace(string_agg(n::text, ''), '([0-9])\1', 'x', 'g') ~ 'x', encode(sha256('x'), 'hex') from j;
begin; delete from j; savepoint s; select nothing; rollback to s; rollback; select count(*) from j; vacuum full j; reindex table j;
END
query -f sql postgres 2>&1 | sed 's/^.*sql:/sql:/'
as pg_dump -h "$sockets" -U postgres -t pgbench_accounts -t j postgres | grep -v -e '^--' -e restrict | sort | sha256sum
query -c 'select pg_sleep(100)' postgres >/dev/null 2>&1 &
for wait in $(seq 100); do
    [ "$(query -c "select count(pg_terminate_backend(pid)) from pg_stat_activity where query like '%sleep(100)' and pid <> pg_backend_pid()" postgres)" = 0 ] || break
    sleep 0.1
done
wait $!; echo terminated $?
as pg_ctl -D data -w -m immediate stop >/dev/null; echo stop $?
start
query -c 'select count(*), sum(abalance) from pgbench_accounts; checkpoint' postgres 2>&1
as pg_ctl -D data -w -m fast stop >/dev/null; echo stop $?
as pg_checksums -D data -c 2>&1 | tail -1
grep -c -e PANIC -e 'signal 11' -e 'signal 6' -e 'signal 5' log
rm -r data init sql log "$sockets"
