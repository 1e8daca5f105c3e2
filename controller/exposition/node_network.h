/*
 * The network devices of an exposition: which devices count, their traffic, and their speed. Part
 * of node_reading.c.
 *
 * The net resources measure the busiest *physical* device. Traffic of a veth or a VLAN also passes
 * the device below it, and the speed of a virtual device is arbitrary (10 Gbit/s for a veth, 10
 * Mbit/s for a TAP). An exporter does not report which devices are physical (those with a
 * /sys/class/net/DEV/device), so a device must meet all of these rules:
 *
 * - Its name is not typical of virtual devices (lo, veth*, docker*, br*, bond*, ...; the list is in
 *   node_network.c). The members of a bond count, each by its own speed.
 * - node_network_iface_link equals node_network_iface_id: otherwise it is a VLAN, a macvlan or an
 *   end of a veth pair.
 * - node_network_protocol_type is Ethernet (1) or InfiniBand (32): otherwise it is a tunnel.
 * - node_network_name_assign_type is not 3, which means that somebody created the device with this
 *   name: a bridge or a port of Open vSwitch. Devices that the kernel finds and names have another
 *   type, and devices that udev renames have 4.
 * - node_network_carrier is 1: a device without a link has neither speed nor traffic.
 *
 * If the operator sets patterns, only these and the carrier decide. A device without traffic in the
 * exposition does not count: the operator has excluded it in the exporter.
 *
 * The speed is node_network_speed_bytes, except for values that are not speeds:
 *
 * - missing, or -125000 ("-1 Mbit/s"), as for most devices of virtual machines;
 * - 65535 and 4294967295 Mbit/s, which is -1 as an unsigned number;
 * - 10 Mbit/s, which every TAP reports, whatever its name.
 *
 * Such a device gets the speed from node_network_options, or else does not count: a guess could be
 * wrong by orders of magnitude. If no device is left, there is no reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/glob.h"
#include "controller/exposition/exposition.h"
#include "controller/exposition/series_list.h"

struct node_network_options {
        struct glob_list devices; /* empty: physical devices */
        double speed_bytes;       /* per second, for devices that report none; 0: none */
};

/* Globs of the names that kernels, container runtimes, CNI plugins and hypervisors give to virtual
 * devices; NULL-terminated. */
extern const char *const node_network_virtual_names[];

/**
 * node_network_speed_parse() - bits per second, "1000000000" or "1G" (k, M, G and T are decimal)
 * Return: 0; -EINVAL if it is not a number above 0
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

/** node_network_take() - add one sample of a family; false if the sample is not usable */
bool node_network_take(struct series_list *series, const struct node_network_options *rules,
                       enum node_network_field field, const struct exposition_sample *sample);

/* A device that counts. */
struct node_link {
        uint64_t id;
        double received_bytes, sent_bytes;
        double speed_bytes; /* per second, > 0 */
};

/**
 * node_network_finish() - the devices that count, by ascending id
 * @fields:    the series of each family, by enum node_network_field
 * @ret_links: room for every device with a NETWORK_RECEIVED
 * @ret_count: the number of devices
 * Return: NULL, or why there is no value (constant text)
 */
const char *node_network_finish(const struct series_list *const *fields,
                                const struct node_network_options *rules,
                                struct node_link *ret_links, size_t *ret_count);
