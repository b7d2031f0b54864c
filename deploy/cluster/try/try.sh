#!/bin/sh
# Kills servers of a replicated cluster between facts and commits, and proves that nothing acknowledged was lost
# and nothing counts twice. NOT RUN by its authors: no Docker engine was available. README.md explains it.
#
#   ./try.sh [ROUNDS]      12 rounds without an argument; ends with 0, or says what is wrong and ends with 1
set -eu
cd "$(dirname "$0")"

rounds=${1:-12}
events=200 # in a round
replicas="c1a c1b c2a c2b"

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
ctl() { docker compose run --rm -T ctl "$@"; }
sql() { docker compose exec -T "$1" clickhouse-client --user ctxledger --password writer --database ctxledger --query "$2"; }
kill_hard() { docker compose kill -s KILL "$1"; }

# until_true SECONDS COMMAND...
until_true() {
    left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 1
    done
}

# facts ROUND prints the events of a round. The ids are the same each time.
facts() {
    i=0
    while [ "$i" -lt "$events" ]; do
        printf '{"specversion":"1.0","id":"r%s-%s","source":"urn:try","type":"dev.ctxledger.context.item.added.v1","subject":"i-%s-%s","time":"2026-01-02T03:04:05Z","sessionid":"s-%s-%s","sequence":"%012d","data":{"event_type":"context.item.added","schema_version":"0.1.0","item_id":"i-%s-%s","context_kind":"file_excerpt"}}\n' \
            "$1" "$i" "$1" "$i" "$1" "$((i % 32))" "$((i / 32 + 1))" "$1" "$i"
        i=$((i + 1))
    done
}

# publish ROUND repeats the events of a round until all are acknowledged.
publish() {
    tries=0
    until facts "$1" | ctl publish; do
        tries=$((tries + 1))
        [ "$tries" -lt 60 ] || fail "the events of round $1 were not acknowledged"
        sleep 1
    done
}

# committing SHARD finds the replica on which an insert into commits waits. Its facts are stored.
committing() {
    for writer in "c${1}a" "c${1}b"; do
        n=$(sql "$writer" "SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND position(query, 'commits') > 0")
        [ "$n" -eq 0 ] || return 0
    done
    return 1
}

# between ROUND SHARD kills the replica that waits in an insert into commits, or the projectors. No replica of the
# shard fetches commits, so that the insert has to wait.
between() {
    sql "c${2}a" "SYSTEM STOP FETCHES ctxledger.commits"
    sql "c${2}b" "SYSTEM STOP FETCHES ctxledger.commits"
    publish "$1"
    until_true 60 committing "$2" || fail "round $1: no insert into commits waited on shard $2"
    if [ "$(($1 % 2))" -eq 0 ]; then
        say "round $1: killing $writer between facts and commits"
        kill_hard "$writer"
    else
        say "round $1: killing both projectors between facts and commits on shard $2"
        kill_hard project1
        kill_hard project2
    fi
    docker compose up -d --wait --wait-timeout 180
    sql "c${2}a" "SYSTEM START FETCHES ctxledger.commits"
    sql "c${2}b" "SYSTEM START FETCHES ctxledger.commits"
}

# elsewhere ROUND kills another server while events are published.
elsewhere() {
    case $(($1 % 4)) in
        0) victim="n$(($1 / 4 % 3 + 1))" ;;
        1) victim="k$(($1 / 4 % 3 + 1))" ;;
        2) victim=c1b ;;
        3) victim=c2b ;;
    esac
    say "round $1: killing $victim under load"
    publish "$1" &
    load=$!
    sleep 1
    kill_hard "$victim"
    docker compose up -d --wait --wait-timeout 180
    wait "$load" || fail "round $1: the events were not acknowledged"
}

docker build -t ctxledger:try -f ../../compose/Dockerfile ../../..
docker compose down --volumes --remove-orphans
docker compose up -d --wait --wait-timeout 300 k1 k2 k3 c1a c1b c2a c2b n1 n2 n3
ctl migrate --replicas 3 --cluster try --partitions 4
ctl migrate --cluster try | grep -q 'everything is up to date' || fail "a second migration changed something"
ctl proof keygen
docker compose up -d project1 project2

round=1
while [ "$round" -le "$rounds" ]; do
    if [ "$((round % 3))" -eq 0 ]; then
        elsewhere "$round"
    else
        between "$round" "$((round / 3 % 2 + 1))"
    fi
    round=$((round + 1))
done

say "projecting what is left"
docker compose stop project1 project2
ctl project --until-caught-up
for server in $replicas; do
    for table in $(sql "$server" "SELECT name FROM system.tables WHERE database = 'ctxledger' AND engine LIKE 'Replicated%'"); do
        sql "$server" "SYSTEM SYNC REPLICA ctxledger.$table"
    done
done

acknowledged=$((rounds * events))
counted=0
for shard in 1 2; do
    one="c${shard}a"
    other="c${shard}b"
    rows=$(sql "$one" "SELECT count() FROM events FINAL")
    ids=$(sql "$one" "SELECT uniqExact(source, event_id) FROM events FINAL")
    [ "$rows" -eq "$ids" ] || fail "shard $shard has $rows events with $ids ids: some count twice"
    quarantined=$(sql "$one" "SELECT count() FROM quarantine FINAL")
    [ "$quarantined" -eq 0 ] || fail "shard $shard has $quarantined quarantined messages"
    counted=$((counted + rows))
    for table in $(sql "$one" "SELECT name FROM system.tables WHERE database = 'ctxledger' AND engine LIKE 'Replicated%'"); do
        case $table in
            cluster_*) digest="SELECT count(), sumWithOverflow(cityHash64(toString(tuple(*)))) FROM $table" ;;
            *) digest="SELECT count(), sumWithOverflow(cityHash64(toString(tuple(*)))) FROM $table FINAL" ;;
        esac
        a=$(sql "$one" "$digest")
        b=$(sql "$other" "$digest")
        [ "$a" = "$b" ] || fail "$table differs: $one has $a, and $other has $b"
    done
done
[ "$counted" -eq "$acknowledged" ] || fail "$acknowledged events were acknowledged, and the shards have $counted"

for answer in $(ctl query checks -o csv | tail -n +2 | cut -d, -f2); do
    [ "$answer" = 0 ] || fail "a standing check finds violations: run 'docker compose run --rm ctl query checks'"
done
ctl doctor || say "doctor found a problem: it decides nothing here, because this NATS has no users"
say "passed: $acknowledged events in $rounds rounds, none lost, none twice, and replicas are equal"
docker compose down --volumes
