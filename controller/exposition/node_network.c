#include "controller/exposition/node_network.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

const char *const node_network_virtual_names[] = {
        "lo",       "veth*",   "docker*", "podman*", "br*",          "virbr*",  "vnet*",
        "tap*",     "tun*",    "tunl*",   "wg*",     "ifb*",         "dummy*",  "bond*",
        "team*",    "vlan*",   "macv*",   "ipvl*",   "vxlan*",       "geneve*", "genev_*",
        "gre*",     "erspan*", "sit*",    "ip6*",    "ip_vti*",      "ipip*",   "nlmon*",
        "ovs-*",    "cni*",    "cbr*",    "cali*",   "cilium*",      "lxc*",    "lxd*",
        "flannel*", "weave*",  "antrea*", "kube-*",  "nodelocaldns", "eni*",    "gke*",
        "azv*",     "vcan*",   "vrf*",    NULL,
};

enum { ETHERNET = 1, INFINIBAND = 32 }; /* ARPHRD_* of <net/if_arp.h> */
enum { NAME_BY_USER = 3 };              /* NET_NAME_USER of the kernel's <linux/netdevice.h> */
/* Less is a unit that was forgotten. */
enum { SPEED_MIN_BITS = 1000 * 1000 };

static bool is_candidate(const struct node_network_options *rules, const char *name, size_t len) {
        if (rules->devices.count > 0)
                return glob_list_matches(&rules->devices, name, len);
        for (size_t i = 0; node_network_virtual_names[i]; i++)
                if (glob_matches(node_network_virtual_names[i], name, len))
                        return false;
        return true;
}

bool node_network_take(struct series_list *series, const struct node_network_options *rules,
                       enum node_network_field field, const struct exposition_sample *sample) {
        const struct exposition_label *name = exposition_label(sample, "device");
        bool is_counter = field == NETWORK_RECEIVED || field == NETWORK_SENT;

        if (!name)
                return false;
        if (!is_candidate(rules, name->value, name->value_len))
                return true;
        return series_list_add(
                series, hash_fnv1a(HASH_FNV1A_INIT, name->value, name->value_len), sample->value,
                !is_counter || series_value_is_within(sample->value, NODE_COUNTER_MAX));
}

/* A device's value in each family; NULL: the family does not have the device. */
struct device {
        const double *values[NETWORK_FIELD_COUNT];
};

/* Does the family have the device with another value than @value? */
static bool is_other(const struct device *device, enum node_network_field field, double value) {
        return device->values[field] && *device->values[field] != value;
}

/* Only with the series of netclass. Without that collector, names decide. */
static bool is_physical(const struct device *device) {
        const double *link = device->values[NETWORK_LINK];
        const double *name_assign = device->values[NETWORK_NAME_ASSIGN];

        return !(name_assign && *name_assign == NAME_BY_USER) &&
               !(link && is_other(device, NETWORK_ID, *link)) &&
               !(is_other(device, NETWORK_PROTOCOL, ETHERNET) &&
                 is_other(device, NETWORK_PROTOCOL, INFINIBAND));
}

/* The kernel does not report the carrier of a device that is down. */
static bool has_carrier(const struct device *device) {
        return device->values[NETWORK_CARRIER] ? *device->values[NETWORK_CARRIER] == 1
                                               : !device->values[NETWORK_ID];
}

/* In bytes per second; see the header. */
static bool is_speed(const double *speed_bytes) {
        static const double unknown_mbits[] = {10, UINT16_MAX, UINT32_MAX}, mbit_bytes = 125000;

        for (size_t i = 0; speed_bytes && i < ARRAY_LEN(unknown_mbits); i++)
                if (*speed_bytes == unknown_mbits[i] * mbit_bytes)
                        return false;
        return speed_bytes && number_is_finite(*speed_bytes) && *speed_bytes > 0;
}

int node_network_speed_parse(const char *text, double *ret_bytes, struct error *err) {
        static const char units[] = "kMGT";
        size_t len = strlen(text);
        double bits = 0, unit = 1;

        const char *suffix = len > 0 ? strchr(units, text[len - 1]) : NULL;
        if (suffix) {
                len--;
                for (const char *u = units; u <= suffix; u++)
                        unit *= 1000;
        }
        if (!number_parse(text, len, &bits) || bits * unit < SPEED_MIN_BITS ||
            !number_is_finite(bits * unit))
                return error_set(err, EINVAL,
                                 "expected at least 1M bits per second, such as 1G or 25G, got "
                                 "%.40s",
                                 text);
        *ret_bytes = bits * unit / 8;
        return 0;
}

const char *node_network_finish(const struct series_list *const *fields,
                                const struct node_network_options *rules,
                                struct node_link *ret_links, size_t *ret_count) {
        const char *why = "no matching network device, see --network-device-pattern";
        size_t count = 0;

        for (size_t i = 0; i < fields[NETWORK_RECEIVED]->count; i++) {
                uint64_t id = fields[NETWORK_RECEIVED]->items[i].id;
                struct device device;
                for (size_t f = 0; f < NETWORK_FIELD_COUNT; f++)
                        device.values[f] = series_list_find(fields[f], id);
                const double *speed_bytes = device.values[NETWORK_SPEED];
                if (!device.values[NETWORK_SENT] || !has_carrier(&device) ||
                    (rules->devices.count == 0 && !is_physical(&device)))
                        continue;
                if (!is_speed(speed_bytes))
                        speed_bytes = &rules->speed_bytes;
                if (*speed_bytes <= 0) {
                        why = "no network device reports its speed, see --network-speed";
                        continue;
                }
                ret_links[count++] = (struct node_link){
                        .id = id,
                        .received_bytes = *device.values[NETWORK_RECEIVED],
                        .sent_bytes = *device.values[NETWORK_SENT],
                        .speed_bytes = *speed_bytes,
                };
        }
        *ret_count = count;
        return count > 0 ? NULL : why;
}
