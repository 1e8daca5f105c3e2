/*
 * The network devices of an exposition: which of them count, what went through them, how fast they
 * are. Part of node_reading.c.
 *
 * The net resources are of the busiest *physical* device: what goes through a veth or a VLAN goes
 * through the device below it as well, and a virtual device's speed is arbitrary (veth says 10
 * Gbit/s, a TAP 10 Mbit/s). An exporter does not report which devices are physical (those with a
 * /sys/class/net/DEV/device), so it is put together:
 *
 * - Names: not one of those that virtual devices usually have (lo, veth*, docker*, br*, bond*, ...;
 *   the list is in node_network.c). Of a bond the members count, each by its own speed.
 * - node_network_iface_link equals node_network_iface_id: no VLAN, macvlan or end of a veth pair.
 * - node_network_protocol_type is Ethernet (1) or InfiniBand (32): no tunnel.
 * - node_network_name_assign_type is not 3: a device that somebody created under a name, such as
 *   a bridge or a port of Open vSwitch. The kernel names the devices that it finds; if udev
 *   renames one, it is 4.
 * - node_network_carrier is 1: a device without link has no speed, and no traffic.
 *
 * With the operator's patterns, only they and the carrier decide. A device that the exporter
 * shows no traffic of does not count: its operator has excluded it there.
 *
 * The speed is node_network_speed_bytes. These are not speeds:
 *
 * - none, or -125000 ("-1 Mbit/s"), as most virtual machines' devices have;
 * - 65535 and 4294967295 Mbit/s, the same -1 in unsigned numbers;
 * - 10 Mbit/s, which every TAP reports, whatever its name.
 *
 * A device without a speed has the one of node_network_options, or else does not count, because a
 * guess would be wrong by orders of magnitude. If none is left, there is no reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/glob.h"
#include "controller/exposition/exposition.h"
#include "controller/exposition/series_list.h"

struct node_network_options {
        struct glob_list devices; /* empty: the physical ones */
        double speed_bytes;       /* a second, of devices that report none; 0: there is none */
};

/* Names that virtual devices have in kernels, container runtimes, CNI plugins and hypervisors:
 * globs, NULL-terminated. */
extern const char *const node_network_virtual_names[];

/**
 * node_network_speed_parse() - bits a second, "1000000000" or "1G" (k, M, G and T are decimal)
 * Return: 0; -EINVAL when that is no number above 0
 */
_must_check_ int node_network_speed_parse(const char *text, double *ret_bytes, struct error *err);

/* The families, in the order of the table in policy/metric_resource.h. */
enum node_network_field {
        NETWORK_RECEIVED,
        NETWORK_SENT,
        NETWORK_SPEED,
        NETWORK_ID,
        NETWORK_LINK,
        NETWORK_PROTOCOL,
        NETWORK_CARRIER,
        NETWORK_NAME_ASSIGN,
        NETWORK_FIELD_COUNT,
};

/** node_network_take() - note one sample of a family; false when the sample is not usable */
bool node_network_take(struct series_list *series, const struct node_network_options *rules,
                       enum node_network_field field, const struct exposition_sample *sample);

/* A device that counts. */
struct node_link {
        uint64_t id;
        double received_bytes, sent_bytes;
        double speed_bytes; /* a second, > 0 */
};

/**
 * node_network_finish() - the devices that count, by ascending id
 * @fields:    the series of each family, by enum node_network_field
 * @ret_links: room for as many as have a NETWORK_RECEIVED
 * @ret_count: how many there are
 * Return: NULL, or why nothing can be said (constant text)
 */
const char *node_network_finish(const struct series_list *const *fields,
                                const struct node_network_options *rules,
                                struct node_link *ret_links, size_t *ret_count);
