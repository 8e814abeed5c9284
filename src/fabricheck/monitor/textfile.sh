#!/bin/sh
# The RDMA ports of this node as metrics, into a file for node_exporter's textfile collector: for
# nodes without Python. Written by "fabricheck metrics script", with the names and the table of
# counters of the suite; write it anew after an update.
#
# usage: fabricheck-ports FILE.prom      (from cron or a timer)
# FILE.prom.seen keeps which ports there were; remove it to forget one.
set -eu

# Here follows collect.sh of the suite, which prints what the kernel says.
#@COLLECT@

# What is told: F family, type and meaning; O an older name of one; D driver of a kernel driver; L limit of
# a band; C driver, place and name of a counter, family, labels and factor.
table() {
    cat <<'END'
#@TABLE@
END
}

# First the table, then the ports that were seen, then what the kernel says.
tell() {
    table
    echo '='
    if [ -e "$1" ]; then cat "$1"; fi
    collect now "$(hostname)" ports adapters
}

if [ $# -ne 1 ]; then
    echo "usage: ${0##*/} FILE.prom" >&2
    exit 2
fi
hour=$(($(date +%s) / 3600 * 3600))
tell "$1.seen" | awk -F'\t' -v seen="$1.seen.$$" -v hour="$hour" '
# What {n} stands for in the name of a counter: "all" where it has none, "" for another counter.
function number(row, name,    at, tail, rest) {
    at = index(row, "{n}")
    if (!at) return name == row ? "all" : ""
    tail = substr(row, at + 3)
    rest = length(name) - (at - 1) - length(tail)
    if (rest < 1 || substr(name, 1, at - 1) != substr(row, 1, at - 1)) return ""
    if (substr(name, at + rest) != tail) return ""
    name = substr(name, at, rest)
    return name ~ /^[0-9]+$/ ? name : ""
}

function labelled(text, letter, value) {
    gsub(letter, value, text)
    return text
}

# Of several counters for one thing, the greatest.
function keep(family, labels, value,    key) {
    key = family SUBSEP labels
    if (!(key in told)) order[family, ++count[family]] = labels
    if (!(key in told) || value > told[key]) told[key] = value
}

function counter(place, name, value,    row, which) {
    if (value !~ /^[0-9]+$/) return
    for (row = 1; row <= rows; row++) {
        if (drivers[row] != "any" && drivers[row] != driver[kernel]) continue
        if (places[row] != place || (which = number(names[row], name)) == "") continue
        keep(families[row], port labelled(labelled(labels[row], "#", which), "@", name), value * factors[row])
    }
}

function stripped(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

section == 0 && $1 == "F" { kinds[++kindred] = $2; types[$2] = $3; meanings[$2] = $4 }
section == 0 && $1 == "O" { older[$2] = $3 }
section == 0 && $1 == "D" { driver[$2] = $3 }
section == 0 && $1 == "L" { limits["band=\"" $2 "\",level=\"" $3 "\""] = $4 }
section == 0 && $1 == "C" {
    drivers[++rows] = $2; places[rows] = $3; names[rows] = $4
    families[rows] = $5; labels[rows] = $6; factors[rows] = $7
}
section == 0 { section = ($0 == "="); next }
section == 1 && /^told / { split($0, words, " "); node = words[3]; uptime = words[4]; section = 2; next }
section == 1 { split($0, words, " "); was[words[1] " " words[2]] = words[3] + 0; next }
$0 == "end" { whole = 1; next }
{
    colon = index($0, ":")
    path = substr($0, 1, colon - 1)
    value = stripped(substr($0, colon + 1))
    paths[++lines] = path
    values[lines] = value
    last[path] = value
    parts = split(path, part, "/")
    if (path ~ /\/ports\/[0-9]+\/state$/) ports[++many] = part[4] " " part[6]
    if (path ~ /\/device\/uevent$/ && value ~ /^DRIVER=/) bound[part[4]] = substr(value, 8)
    if (path ~ /\/gid_attrs\/ndevs\// && !((part[4] " " part[6]) in netdevs))
        netdevs[part[4] " " part[6]] = value
}

END {
    if (!whole) exit 1
    keep("fabricheck_ports", "node=\"" node "\"", many + 0)
    keep("fabricheck_node_uptime_seconds", "node=\"" node "\"", uptime + 0)
    for (each in limits) keep("fabricheck_band_limit", "node=\"" node "\"," each, limits[each])
    for (one = 1; one <= many; one++) {
        split(ports[one], which, " ")
        base = "sys/class/infiniband/" which[1]
        place = base "/ports/" which[2]
        port = "node=\"" node "\",device=\"" which[1] "\",port=\"" which[2] "\""
        kernel = (base "/parent") in last ? "rdma_rxe" : bound[which[1]]
        netdev = ports[one] in netdevs ? netdevs[ports[one]] : last[base "/parent"]
        here[ports[one]] = 1
        was[ports[one]] += 0
        state = last[place "/state"]
        sub(/^[^:]*: */, "", state)
        keep("fabricheck_port_info", port ",driver=\"" kernel "\",firmware=\"" last[base "/fw_ver"] \
            "\",board=\"" last[base "/board_id"] "\",link_layer=\"" last[place "/link_layer"] \
            "\",interface=\"" netdev "\"", 1)
        keep("fabricheck_port_active", port, state == "ACTIVE")
        if (state == "ACTIVE") was[ports[one]] = hour
        if (last[place "/rate"] ~ /^[0-9.]+ Gb\/sec/)
            keep("fabricheck_port_rate_bytes_per_second", port, last[place "/rate"] * 125000000)
        changes = last["sys/class/net/" netdev "/carrier_changes"]
        if (netdev != "" && changes ~ /^[0-9]+$/)
            keep("fabricheck_port_carrier_changes_total", port, changes)
        for (line = 1; line <= lines; line++) {
            path = paths[line]
            name = path
            sub(/.*\//, "", name)
            folder = substr(path, 1, length(path) - length(name))
            if (folder == place "/counters/") counter("counters", name, values[line])
            if (folder == place "/hw_counters/") counter("hw_counters", name, values[line])
            if (netdev != "" && folder == "ethtool/" netdev "/") counter("ethtool -S", name, values[line])
            if (netdev != "" && path == "proc/net/dev_snmp6/" netdev) {
                split(values[line], pair, /[ \t]+/)
                counter("IP", pair[1], pair[2])
            }
            if (path == "proc/net/netstat" && values[line] ~ /CEPkts|ECT[01]Pkts/ && paths[line + 1] == path) {
                pairs = split(values[line], titles, " ")
                split(values[line + 1], cells, " ")
                for (cell = 2; cell <= pairs; cell++)
                    if (titles[cell] ~ /(CEPkts|ECT[01]Pkts)$/) counter("IP", titles[cell], cells[cell])
            }
        }
    }
    for (each in was) {
        split(each, which, " ")
        port = "node=\"" node "\",device=\"" which[1] "\",port=\"" which[2] "\""
        keep("fabricheck_port_missing", port, !(each in here))
        if (was[each]) keep("fabricheck_port_last_active_timestamp_seconds", port, was[each])
        print each, was[each] >seen
    }
    for (kind = 1; kind <= kindred; kind++) {
        family = kinds[kind]
        of = family in older ? older[family] : family
        if (!count[of]) continue
        print "# HELP " family " " meanings[family]
        print "# TYPE " family " " types[family]
        for (each = 1; each <= count[of]; each++)
            printf "%s{%s} %s\n", family, order[of, each], sprintf("%.17g", told[of, order[of, each]])
    }
}' >"$1.$$" || {
    rm -f "$1.$$" "$1.seen.$$"
    echo "${0##*/}: expected a whole snapshot of the ports, found none: $1 is as it was" >&2
    exit 1
}
if [ -e "$1.seen.$$" ]; then mv "$1.seen.$$" "$1.seen"; fi
mv "$1.$$" "$1"
