/* Network devices, filesystems and the policy's own resources: which of a page's series count, and
 * what becomes of them from page to page. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "controller/exposition/node_state.h"

#define BIT(resource) NODE_RESOURCE_BIT(METRIC_##resource)
#define NET (BIT(NET) | BIT(NET_RX) | BIT(NET_TX))
#define OWN(i) NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT + (i))

static struct node_reading *reading;

static int set_up(void **state) {
        reading = node_reading_new();
        return 0;
}

static int tear_down(void **state) {
        node_reading_free(reading);
        return 0;
}

static void parse(const struct node_wants *wants, const char *page) {
        node_reading_parse(reading, wants, page, strlen(page), true);
}

/* A device as netdev and netclass show it. */
struct device {
        const char *name;
        int received, sent;          /* -1: no series */
        double speed;                /* bytes a second; 0: no series */
        int id, link, type, carrier; /* -1: no series */
        int name_assign;             /* 0: no series */
};

static void write_value(struct buf *page, const char *family, const char *name, double value) {
        buf_printf(page, "node_network_%s{device=\"%s\"} %.17g\n", family, name, value);
}

static void write_device(struct buf *page, const struct device *device) {
        const char *name = device->name;

        if (device->received >= 0)
                write_value(page, "receive_bytes_total", name, device->received);
        if (device->sent >= 0)
                write_value(page, "transmit_bytes_total", name, device->sent);
        if (device->speed != 0)
                write_value(page, "speed_bytes", name, device->speed);
        if (device->id >= 0)
                write_value(page, "iface_id", name, device->id);
        if (device->link >= 0)
                write_value(page, "iface_link", name, device->link);
        if (device->type >= 0)
                write_value(page, "protocol_type", name, device->type);
        if (device->carrier >= 0)
                write_value(page, "carrier", name, device->carrier);
        if (device->name_assign > 0)
                write_value(page, "name_assign_type", name, device->name_assign);
}

#define ETH0                                                                                       \
        { "eth0", 100, 200, 1.25e8, 2, 2, 1, 1 }

TEST(which_devices) {
        static const char no_speed[] = "no network device reports its speed, see --network-speed";
        static const char none[] = "no matching network device, see --network-device-pattern";
        static const struct {
                const char *pattern; /* NULL: physical devices */
                double speed_bytes;
                struct device devices[3];
                size_t count;
                const char *why;
        } rows[] = {
                {NULL, 0, {ETH0}, 1, NULL},
                {NULL, 0, {{0}}, 0, none},
                {NULL, 0, {ETH0, {"ens5", 1, 1, 1.25e9, 3, 3, 1, 1}}, 2, NULL},
                {NULL, 0, {ETH0, {"ib0", 1, 1, 1e10, 3, 3, 32, 1}}, 2, NULL},
                /* by their names */
                {NULL, 0, {{"lo", 9, 9, 0, 1, 1, 772, 1}}, 0, none},
                {NULL, 0, {ETH0, {"veth1a2b", 9, 9, 1.25e9, 7, 7, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"docker0", 9, 9, 0, 4, 4, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"br-0af1", 9, 9, 0, 4, 4, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"cali12ab", 9, 9, 1.25e9, 4, 4, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"tun0", 9, 9, 1.25e6, 4, 4, 65534, 1}}, 1, NULL},
                /* A bond's members count, by their own speeds. */
                {NULL,
                 0,
                 {ETH0, {"eth1", 1, 1, 1.25e8, 3, 3, 1, 1}, {"bond0", 1, 1, 2.5e8, 4, 4, 1, 1}},
                 2,
                 NULL},
                /* by what they are, whatever their names */
                {NULL, 0, {ETH0, {"uplink7", 9, 9, 1.25e8, 9, 2, 1, 1}}, 1, NULL}, /* a VLAN */
                {NULL, 0, {ETH0, {"pod4711", 9, 9, 1.25e9, 9, 2, 1, 1}}, 1, NULL}, /* a veth */
                {NULL, 0, {ETH0, {"secure", 9, 9, 1.25e6, 9, 9, 65534, 1}}, 1, NULL},
                /* without a link, or switched off; a spare one has no speed, and that's fine */
                {NULL, 0, {ETH0, {"eth1", 9, 9, -125000, 3, 3, 1, 0}}, 1, NULL},
                {NULL, 0, {ETH0, {"eth1", 9, 9, 0, 3, 3, 1, -1}}, 1, NULL},
                {NULL, 0, {{"eth0", 1, 2, 1.25e8, 2, 2, 1, 0}}, 0, none},
                /* without speed */
                {NULL, 0, {{"eth0", 1, 2, -125000, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"eth0", 1, 2, 0, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"eth0", 1, 2, INFINITY, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"ens3", 1, 2, 8191875000, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"ens3", 1, 2, 536870911875000, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"eth0", 1, 2, 1.25e6, 2, 2, 1, 1}}, 0, no_speed},
                {NULL, 0, {{"eth0", 1, 2, 1.25e7, 2, 2, 1, 1}}, 1, NULL},
                /* of which a real device has one */
                {NULL, 0, {ETH0, {"eth1", 1, 2, -125000, 3, 3, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"ovn-k8s-mp0", 1, 2, 0, 9, 9, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"ovn0", 1, 2, 0, 9, 9, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"usb0", 1, 2, 0, 9, 9, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"ztabcdef", 1, 2, 1.25e6, 9, 9, 1, 1}}, 1, NULL}, /* a TAP */
                {NULL, 0, {{"ztabcdef", 1, 2, 1.25e6, 9, 9, 1, 1}}, 0, no_speed},
                {"eth*", 0, {ETH0, {"eth1", 1, 2, -125000, 3, 3, 1, 1}}, 1, NULL},
                /* named by the kernel, renamed by udev, created under its name */
                {NULL, 0, {{"eth0", 1, 2, 1.25e8, 2, 2, 1, 1, 1}}, 1, NULL},
                {NULL, 0, {{"enp3s0", 1, 2, 1.25e8, 2, 2, 1, 1, 4}}, 1, NULL},
                {NULL, 0, {ETH0, {"my-bridge", 1, 2, 1.25e9, 9, 9, 1, 1, 3}}, 1, NULL},
                {"my*", 0, {ETH0, {"my-bridge", 1, 2, 1.25e9, 9, 9, 1, 1, 3}}, 1, NULL},
                {NULL, 1e9, {ETH0, {"eth1", 1, 2, -125000, 3, 3, 1, 1}}, 2, NULL},
                /* an exporter without netclass: names, and the speed given */
                {NULL, 0, {{"eth0", 1, 2, 0, -1, -1, -1, -1}}, 0, no_speed},
                {NULL, 1e9, {{"eth0", 1, 2, 0, -1, -1, -1, -1}}, 1, NULL},
                /* one that excludes a device from netdev */
                {NULL, 0, {ETH0, {"eth1", -1, -1, 1.25e8, 3, 3, 1, 1}}, 1, NULL},
                {NULL, 0, {ETH0, {"eth1", 1, -1, 1.25e8, 3, 3, 1, 1}}, 1, NULL},
                /* as the operator says */
                {"eth1", 0, {ETH0, {"eth1", 1, 2, 1.25e8, 3, 3, 1, 1}}, 1, NULL},
                {"bond*", 0, {ETH0, {"bond0", 1, 2, 2.5e8, 3, 3, 1, 1}}, 1, NULL},
                {"*", 0, {ETH0, {"vlan7", 1, 2, 1.25e8, 3, 2, 1, 1}}, 2, NULL},
                {"eth7", 0, {ETH0}, 0, none},
                {"eth*", 0, {ETH0, {"eth1", 1, 2, 0, 3, 3, 1, 0}}, 1, NULL},
        };
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct node_network_options rules = {.speed_bytes = rows[i].speed_bytes};
                struct node_wants wants;

                if (rows[i].pattern)
                        assert_int_equal(glob_list_parse(rows[i].pattern, &rules.devices, NULL), 0);
                node_wants_init(&wants,
                                &(struct node_wants_options){.resources = BIT(NET) | BIT(NET_TX),
                                                             .network = &rules});
                buf_clear(&page);
                for (size_t d = 0; d < 3 && rows[i].devices[d].name; d++)
                        write_device(&page, &rows[i].devices[d]);
                parse(&wants, page.len > 0 ? page.data : "");
                if (reading->link_count != rows[i].count)
                        fail_msg("row %zu: %zu devices", i, reading->link_count);
                assert_int_equal(reading->usable, rows[i].why ? 0 : BIT(NET) | BIT(NET_TX));
                for (unsigned r = METRIC_NET; r <= METRIC_NET_TX; r++) {
                        const char *why = r == METRIC_NET_RX ? NULL : rows[i].why;
                        if (why != reading->why[r] &&
                            (!why || !reading->why[r] || strcmp(why, reading->why[r]) != 0))
                                fail_msg("row %zu: %u because %s", i, r, reading->why[r]);
                }
        }
}

TEST(network_trust) {
        static const char eth0[] = "node_network_receive_bytes_total{device=\"eth0\"} 1\n"
                                   "node_network_transmit_bytes_total{device=\"eth0\"} 1\n"
                                   "node_network_speed_bytes{device=\"eth0\"} 125\n";
        static const struct {
                const char *more;
                bool is_usable;
        } rows[] = {
                {"", true},
                {"node_network_receive_bytes_total{device=\"eth0\"} 7\n", true}, /* repeated */
                {"node_network_receive_bytes_total{device=\"eth1\"} -1\n", false},
                {"node_network_receive_bytes_total{device=\"eth1\"} NaN\n", false},
                {"node_network_receive_bytes_total{device=\"eth1\"} 1e19\n", false},
                {"node_network_receive_bytes_total{device=\"eth1\"} x\n", false},
                {"node_network_receive_bytes_total 1\n", false},
                {"node_network_receive_bytes_total{device=\"veth1\"} NaN\n", true},
                {"node_network_speed_bytes{device=\"eth1\"} NaN\n", true}, /* of nothing */
        };
        struct node_wants wants;

        node_wants_init(&wants, &(struct node_wants_options){.resources = NET});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *page = xasprintf("%s%s", eth0, rows[i].more);
                parse(&wants, page);
                if ((reading->usable == NET) != rows[i].is_usable || (reading->usable & ~NET))
                        fail_msg("row %zu: %x", i, reading->usable);
                assert_true(!rows[i].is_usable || reading->links[0].received_bytes == 1);
                node_reading_parse(reading, &wants, page, strlen(page), false);
                assert_int_equal(reading->usable, 0);
                assert_string_equal(reading->why[METRIC_NET], "the page may be truncated");
        }
}

/* One interval of 10 s; the ratios of net_rx and net_tx, or -1. */
TEST(network_steps) {
        static const struct {
                struct device devices[2];
                double received, sent;
        } rows[] = {
                {{{"eth0", 100, 0, 10, 2, 2, 1, 1}}, -1, -1},
                {{{"eth0", 150, 20, 10, 2, 2, 1, 1}}, 0.5, 0.2},
                {{{"eth0", 150, 20, 10, 2, 2, 1, 1}}, 0, 0},
                {{{"eth0", 650, 120, 10, 2, 2, 1, 1}}, 1, 1},   /* no more than there is */
                {{{"eth0", 640, 130, 10, 2, 2, 1, 1}}, -1, -1}, /* reboot */
                {{{"eth0", 650, 130, 10, 2, 2, 1, 1}}, 0.1, 0},
                {{{"eth0", 660, 140, 100, 2, 2, 1, 1}}, 0.01, 0.01}, /* a faster link now */
                /* another device begins at its first value */
                {{{"eth0", 670, 150, 100, 2, 2, 1, 1}, {"eth1", 5000, 5000, 10, 3, 3, 1, 1}},
                 0.01,
                 0.01},
                /* the busiest, by its own speed, and for each direction by itself */
                {{{"eth0", 970, 150, 100, 2, 2, 1, 1}, {"eth1", 5020, 5070, 10, 3, 3, 1, 1}},
                 0.3,
                 0.7},
                {{{"eth0", 970, 150, 100, 2, 2, 1, 1}, {"eth1", 7, 5080, 10, 3, 3, 1, 1}},
                 0,
                 0}, /* it was reset */
                {{{"eth0", 970, 150, 100, 2, 2, 1, 1}, {"eth1", 57, 5080, 10, 3, 3, 1, 0}},
                 0,
                 0}, /* it has lost its link */
                {{{"eth0", 970, 1000, 100, 2, 2, 1, 1}}, 0, 0.85},
                {{{"eth0", 970, 1e9, 1e-9, 2, 2, 1, 1}}, -1, -1}, /* absurd */
                {{{"eth1", 980, 1e9, 100, 2, 2, 1, 1}}, -1, -1},  /* another one in its place */
        };
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);
        struct node_wants wants;
        struct window_step step;

        node_wants_init(&wants, &(struct node_wants_options){.resources = NET});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                buf_clear(&page);
                for (size_t d = 0; d < 2 && rows[i].devices[d].name; d++)
                        write_device(&page, &rows[i].devices[d]);
                parse(&wants, page.data);
                uint32_t usable_before = before.usable;
                node_state_step(&before, &wants, reading, 10000 * (int64_t)i, &step);
                if (rows[i].received < 0) {
                        assert_int_equal(step.counters, 0);
                        assert_int_equal(usable_before, i > 0 ? NET : 0);
                        continue;
                }
                assert_int_equal(step.counters, NET);
                if (fabs(step.num[METRIC_NET_RX] / step.den[METRIC_NET_RX] - rows[i].received) >
                            1e-9 ||
                    fabs(step.num[METRIC_NET_TX] / step.den[METRIC_NET_TX] - rows[i].sent) > 1e-9)
                        fail_msg("row %zu: %g %g", i, step.num[METRIC_NET_RX],
                                 step.num[METRIC_NET_TX]);
                assert_true(step.num[METRIC_NET] ==
                            fmax(step.num[METRIC_NET_RX], step.num[METRIC_NET_TX]));
        }
}

TEST(speeds) {
        static const struct {
                const char *text;
                double bytes; /* 0: refused */
        } rows[] = {
                {"8", 1},        {"1000000000", 1.25e8},
                {"1G", 1.25e8},  {"2.5G", 3.125e8},
                {"8k", 1000},    {"100M", 1.25e7},
                {"1T", 1.25e11}, {"", 0},
                {"G", 0},        {"0", 0},
                {"-1G", 0},      {"1g", 0},
                {"1GB", 0},      {"1 G", 0},
                {"inf", 0},      {"1e308T", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                double bytes = 0;
                int r = node_network_speed_parse(rows[i].text, &bytes, &err);
                if (r != (rows[i].bytes > 0 ? 0 : -EINVAL) || bytes != rows[i].bytes)
                        fail_msg("%s: %d, %g", rows[i].text, r, bytes);
        }
}

/* @value: NULL: no series */
static void write_filesystem(struct buf *page, const char *family, const char *device,
                             const char *type, const char *mountpoint, const char *value) {
        if (value)
                (void)buf_printf(page,
                                 "node_filesystem_%s{device=\"%s\",fstype=\"%s\","
                                 "mountpoint=\"%s\"} %s\n",
                                 family, device, type, mountpoint, value);
}

#define FS(family, device, type, mountpoint, value)                                                \
        "node_filesystem_" family "{device=\"" device "\",fstype=\"" type                          \
        "\",mountpoint=\"" mountpoint "\"} " value "\n"

/* A filesystem of which a quarter is used, another one or none next to it, and other series. */
TEST(filesystems) {
        static const struct {
                const char *device, *type, *mountpoint, *size, *available; /* NULL: no series */
                double ratio;                                              /* -1: unusable */
                const char *more;
        } rows[] = {
                {.ratio = 0.25},
                {"/dev/sdb", "xfs", "/var/lib/containerd", "1e+12", "1e+11", 0.9},
                {"tank/data", "zfs", "/srv", "100", "50", 0.5},
                {"/dev/mapper/vg-lv", "btrfs", "/srv", "100", "0", 1},
                /* not the node's own disks */
                {"tmpfs", "tmpfs", "/run", "100", "0", 0.25},
                {"overlay", "overlay", "/x", "100", "0", 0.25},
                {"nas:/export", "nfs4", "/mnt", "100", "0", 0.25},
                {"//nas/share", "cifs", "/mnt", "100", "0", 0.25},
                {"/dev/fuse", "fuse.sshfs", "/mnt", "100", "0", 0.25},
                {"tmpfs", "tmpfs", "/run", "NaN", "-7", 0.25},
                /* full by nature */
                {"/dev/loop0", "squashfs", "/snap/x", "100", "0", 0.25,
                 FS("readonly", "/dev/loop0", "squashfs", "/snap/x", "1")},
                {"/dev/loop0", "squashfs", "/snap/x", NULL, "0", 0.25,
                 FS("readonly", "/dev/loop0", "squashfs", "/snap/x", "1")},
                {"/dev/sdc", "ext4", "/empty", "0", "0", 0.25},
                /* not where a pod's files land, or where only one pod's do */
                {"/dev/sda2", "ext4", "/boot", "100", "0", 0.25},
                {"/dev/sda3", "vfat", "/boot/efi", "100", "0", 0.25},
                {"/dev/sdd", "ext4", "/var/lib/kubelet/pods/1-2/volumes/v", "100", "0", 0.25},
                {"/dev/sdd", "ext4", "/var/lib/kubelet/plugins/csi/pv", "100", "0", 0.25},
                {"/dev/sdd", "ext4", "/var/lib/kubelet", "100", "0", 1},
                {"/dev/rbd3", "ext4",
                 "/var/snap/microk8s/common/var/lib/kubelet/pods/1c2d/volumes/"
                 "kubernetes.io~csi/pvc-7/mount",
                 "100", "0", 0.25},
                {"/dev/rbd3", "ext4", "/data/pods/1c2d/volumes/x~csi/pvc-7/mount", "100", "0",
                 0.25},
                {"/dev/rbd3", "ext4", "/data/pods/1c2d/volume-subpaths/v/c/0", "100", "0", 0.25},
                {"/dev/rbd3", "ext4", "/data/plugins/kubernetes.io/csi/x/5f/globalmount", "100",
                 "0", 0.25},
                {"/dev/sdd", "ext4", "/data/pods", "100", "0", 1},
                {"/dev/sdd", "ext4", "/data/volumes/pods/1c2d", "100", "0", 1},
                {"/dev/sdd", "ext4", "/srv/bootstrap", "100", "0", 1},
                /* from a container that has the node's root elsewhere */
                {"/dev/sda2", "ext4", "/host/boot", "100", "5", 0.25,
                 FS("avail_bytes", "/dev/sda1", "ext4", "/host", "75")
                         FS("size_bytes", "/dev/sda1", "ext4", "/host", "100")},
                {"/dev/sda2", "ext4", "/host/root/boot", "100", "5", 0.25},
                {"/dev/rbd0", "ext4", "/rootfs/var/lib/kubelet/plugins/x/pv", "100", "0", 0.25},
                /* a device mounted twice, and one that the exporter may not look at */
                {"/dev/sda1", "ext4", "/var/lib", "100", "50", 0.5},
                {"/dev/sde", "ext4", "/secret", NULL, NULL, 0.25,
                 FS("device_error", "/dev/sde", "ext4", "/secret", "1")
                         FS("readonly", "/dev/sde", "ext4", "/secret", "0")},
                /* first come, first served */
                {"/dev/sda1", "ext4", "/", NULL, "1", 0.25},
                /* more free than there is: none is used */
                {"/dev/sdb", "ext4", "/srv", "100", "101", 0.25},
                {"/dev/sdb", "ext4", "/srv", "100", "201", -1},
                /* broken */
                {"/dev/sdb", "ext4", "/srv", NULL, "50", -1},
                {"/dev/sdb", "ext4", "/srv", "50", NULL, -1},
                {"/dev/sdb", "ext4", "/srv", "100", "-1", -1},
                {"/dev/sdb", "ext4", "/srv", "NaN", "1", -1},
                {.ratio = -1,
                 .more = "node_filesystem_size_bytes{device=\"/dev/sdb\",fstype=\"ext4\"} 1\n"},
                {.ratio = -1,
                 .more = "node_filesystem_size_bytes{device=\"/dev/b\",mountpoint=\"/b\"} 1\n"},
                {.ratio = -1,
                 .more = "node_filesystem_size_bytes{fstype=\"ext4\",mountpoint=\"/b\"} 1\n"},
        };
        static const char alone[][256] = {"", FS("avail_bytes", "/dev/sdc", "ext4", "/", "0") FS(
                                                      "size_bytes", "/dev/sdc", "ext4", "/", "0")};
        struct buf page = BUF_INIT(4096);
        struct node_wants wants;

        node_wants_init(&wants, &(struct node_wants_options){.resources = BIT(FS)});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                buf_clear(&page);
                (void)buf_puts(&page, FS("avail_bytes", "/dev/sda1", "ext4", "/", "75")
                                              FS("size_bytes", "/dev/sda1", "ext4", "/", "100"));
                write_filesystem(&page, "avail_bytes", rows[i].device, rows[i].type,
                                 rows[i].mountpoint, rows[i].available);
                write_filesystem(&page, "size_bytes", rows[i].device, rows[i].type,
                                 rows[i].mountpoint, rows[i].size);
                (void)buf_puts(&page, rows[i].more ? rows[i].more : "");
                parse(&wants, page.data);
                double ratio = reading->usable == BIT(FS) ? reading->values[METRIC_FS] : -1;
                if (fabs(ratio - rows[i].ratio) > 1e-12 || (ratio < 0) != !!reading->why[METRIC_FS])
                        fail_msg("row %zu: %g, %s", i, ratio, reading->why[METRIC_FS]);
                node_reading_parse(reading, &wants, page.data, page.len, false);
                assert_int_equal(reading->usable, 0);
        }
        buf_done(&page);
        for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
                parse(&wants, alone[i]);
                assert_int_equal(reading->usable, 0);
        }
        parse(&wants, FS("avail_bytes", "/dev/sda1", "ext4", "/", "101")
                              FS("size_bytes", "/dev/sda1", "ext4", "/", "100"));
        assert_true(reading->usable == BIT(FS) && reading->values[METRIC_FS] <= 0);
}

/* As dcgm-exporter 3 and 4 print it: blanks behind the commas or none. */
#define GPU(family, gpu, model, value)                                                             \
        "DCGM_FI_DEV_" family "{gpu=\"" gpu "\",UUID=\"GPU-" gpu                                   \
        "f6aa-51e6-7f4e-86c8\",pci_bus_id=\"00000000:0" gpu ":00.0\",device=\"nvidia" gpu          \
        "\", modelName=\"" model                                                                   \
        "\",Hostname=\"gpu-1\",DCGM_FI_DRIVER_VERSION=\"550.54.15\"} " value "\n"
#define TWO_GPUS                                                                                   \
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"                                    \
        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" GPU("GPU_UTIL", "0", "NVIDIA A100-SXM4-80GB", "97")  \
                GPU("GPU_UTIL", "1", "NVIDIA A100-SXM4-80GB", "3")                                 \
                        GPU("GPU_UTIL", "2", "NVIDIA T1000", "50")

#define A100                                                                                       \
        { "modelName", "NVIDIA A100-SXM4-80GB" }

TEST(gauges) {
        static const struct {
                const char *page;
                struct policy_resource resource; /* series and kind are set below */
                double ratio;                    /* -1: unusable */
        } rows[] = {
                {TWO_GPUS, {.capacity = 100}, 0.97},
                {TWO_GPUS, {.capacity = 100, .reduce = POLICY_REDUCE_MEAN}, 0.5},
                {TWO_GPUS, {.capacity = 100, .reduce = POLICY_REDUCE_MIN}, 0.03},
                {TWO_GPUS, {.capacity = 300, .reduce = POLICY_REDUCE_SUM}, 0.5},
                {TWO_GPUS,
                 {.capacity = 100,
                  .reduce = POLICY_REDUCE_MEAN,
                  .match_count = 1,
                  .matches = {A100}},
                 0.5},
                {TWO_GPUS,
                 {.capacity = 100,
                  .reduce = POLICY_REDUCE_MEAN,
                  .match_count = 2,
                  .matches = {A100, {"gpu", "0"}}},
                 0.97},
                /* "" is a label that is not there, too */
                {TWO_GPUS, {.capacity = 100, .match_count = 1, .matches = {{"pod", ""}}}, 0.97},
                {TWO_GPUS, {.capacity = 100, .match_count = 1, .matches = {{"gpu", ""}}}, -1},
                {TWO_GPUS, {.capacity = 100, .match_count = 1, .matches = {{"gpu", "3"}}}, -1},
                {TWO_GPUS, {.capacity = 50}, 1},    /* no more than full */
                {TWO_GPUS, {.capacity = 0.09}, -1}, /* no measurement */
                {"", {.capacity = 100}, -1},
                /* a repetition counts once */
                {TWO_GPUS TWO_GPUS, {.capacity = 300, .reduce = POLICY_REDUCE_SUM}, 0.5},
                /* by a series of the page */
                {TWO_GPUS GPU("X", "0", "x", "200") GPU("X", "1", "x", "194"),
                 {.capacity_series = "DCGM_FI_DEV_X"},
                 0.485},
                {TWO_GPUS GPU("X", "0", "x", "200") GPU("X", "1", "x", "100"),
                 {.capacity_series = "DCGM_FI_DEV_X", .reduce = POLICY_REDUCE_SUM},
                 0.5},
                {TWO_GPUS, {.capacity_series = "DCGM_FI_DEV_X"}, -1},
                {TWO_GPUS GPU("X", "0", "x", "0"), {.capacity_series = "DCGM_FI_DEV_X"}, -1},
                {TWO_GPUS GPU("X", "0", "x", "NaN"), {.capacity_series = "DCGM_FI_DEV_X"}, -1},
                {TWO_GPUS GPU("X", "0", "x", "1.7e308") GPU("X", "1", "x", "1.7e308"),
                 {.capacity_series = "DCGM_FI_DEV_X", .reduce = POLICY_REDUCE_SUM},
                 -1},
                {TWO_GPUS, {.capacity_series = "DCGM_FI_DEV_GPU_UTIL"}, 1}, /* odd, not wrong */
                /* broken, or what DCGM writes for "not there" */
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "NaN"), {.capacity = 100}, -1},
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "many"), {.capacity = 100}, -1},
                {GPU("GPU_UTIL", "0", "x", "1.7e308") GPU("GPU_UTIL", "1", "x", "1.7e308"),
                 {.capacity = 100, .reduce = POLICY_REDUCE_SUM},
                 -1},
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "-1"), {.capacity = 100}, -1},
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "9223372036854775794"), {.capacity = 100}, -1},
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "140737488355328.000000"),
                 {.capacity = 100},
                 -1},
                {TWO_GPUS GPU("GPU_UTIL", "3", "x", "NaN"),
                 {.capacity = 100, .match_count = 1, .matches = {A100}},
                 0.97},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct policy_resource own[2] = {{.name = "other", .series = "x", .capacity = 1},
                                                 rows[i].resource};
                struct node_state before = NODE_STATE_NULL;
                struct node_wants wants;
                struct window_step step;
                const char *collectors[NODE_MAX_COLLECTORS];

                (void)snprintf(own[1].series, sizeof(own[1].series), "DCGM_FI_DEV_GPU_UTIL");
                node_wants_init(&wants, &(struct node_wants_options){.resources = BIT(CPU) | OWN(1),
                                                                     .own = own,
                                                                     .own_count = 2});
                assert_int_equal(node_wants_collectors(&wants, collectors), 0);
                parse(&wants, rows[i].page);
                double ratio = reading->usable == OWN(1)
                                       ? reading->values[METRIC_RESOURCE_COUNT + 1]
                                       : -1;
                if (fabs(ratio - rows[i].ratio) > 1e-9)
                        fail_msg("row %zu: %g, %s", i, ratio,
                                 reading->why[METRIC_RESOURCE_COUNT + 1]);
                node_state_step(&before, &wants, reading, 0, &step);
                assert_int_equal(step.gauges, ratio < 0 ? 0 : OWN(1));
                assert_true(ratio < 0 || step.num[METRIC_RESOURCE_COUNT + 1] == ratio);
                assert_int_equal(step.counters, 0);
                assert_null(before.own); /* gauges need no memory */
                node_state_done(&before);
                node_reading_parse(reading, &wants, rows[i].page, strlen(rows[i].page), false);
                assert_int_equal(reading->usable, 0);
        }
}

/* As an exporter writes that copies the labels of pods. */
TEST(many_labels) {
        static const struct policy_resource own[] = {
                {.series = "depth", .capacity = 1000, .match_count = 1, .matches = {{"l0", "v"}}}};
        struct node_wants wants;

        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = OWN(0), .own = own, .own_count = 1});
        for (unsigned labels = 40; labels < 1000; labels += 88) {
                _cleanup_(buf_done) struct buf page = BUF_INIT(1 << 16);

                buf_puts(&page, "depth{");
                for (unsigned i = 0; i < labels; i++)
                        buf_printf(&page, "l%u=\"v\",", i);
                buf_puts(&page, "} 500\n");
                parse(&wants, page.data);
                if (labels <= 128)
                        assert_true(reading->usable == OWN(0) &&
                                    reading->values[METRIC_RESOURCE_COUNT] == 0.5);
                else
                        assert_string_equal(reading->why[METRIC_RESOURCE_COUNT],
                                            "a value on the page is invalid, or a series has more "
                                            "than 128 labels");
        }
}

#define IO(device, value) "node_disk_written_bytes_total{device=\"" device "\"} " value "\n"

/* A counter of the user's own: its rate over 10 s of 100 a second. */
TEST(counters) {
        static const struct {
                const char *page;
                double by_max, by_sum; /* -1: dropped */
        } rows[] = {
                {IO("a", "1000") IO("b", "7000"), -1, -1},
                {IO("a", "1100") IO("b", "7500"), 0.5, 0.6},
                {IO("b", "7600") IO("a", "1300"), 0.2, 0.3}, /* in another order */
                {IO("a", "1300") IO("b", "7600"), 0, 0},
                {IO("a", "1400") IO("b", "7599"), 0.1, 0.1}, /* one was reset */
                {IO("a", "1400") IO("b", "8599"), 1, 1},
                {IO("a", "1300") IO("b", "8000"), -1, -1}, /* all did */
                {IO("a", "1400"), 0.1, 0.1},               /* one is gone */
                {IO("a", "1400") IO("c", "1e+10"), 0, 0},  /* one is new, and no spike */
                {IO("a", "1400") IO("c", "1.0000001e+10"), 1, 1},
                {IO("a", "1400") IO("c", "NaN"), -1, -1},
                {IO("a", "1400") IO("c", "1.0000001e+10"), -1, -1}, /* nothing to compare with */
                {IO("a", "1400") IO("c", "1.0000001e+10"), 0, 0},
                {IO("a", "1400") IO("c", "9e+12"), -1, -1}, /* no measurement */
                {IO("a", "1400") IO("d", "9.1e+12"), 0, 0}, /* another one in its place */
                {IO("e", "1"), -1, -1},                     /* and of all */
        };
        static const struct policy_resource gauge = {.series = "node_disk_written_bytes_total",
                                                     .capacity = 100};
        static const struct policy_resource own[] = {
                {.series = "node_disk_written_bytes_total",
                 .type = POLICY_COUNTER,
                 .capacity = 100},
                {.series = "node_disk_written_bytes_total",
                 .type = POLICY_COUNTER,
                 .reduce = POLICY_REDUCE_SUM,
                 .capacity = 100},
        };
        struct node_state before = NODE_STATE_NULL;
        struct node_wants wants;
        struct window_step step;

        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = OWN(0) | OWN(1), .own = own, .own_count = 2});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                parse(&wants, rows[i].page);
                node_state_step(&before, &wants, reading, 10000 * (int64_t)i, &step);
                const double *num = step.num + METRIC_RESOURCE_COUNT;
                if (rows[i].by_max < 0) {
                        assert_int_equal(step.counters, 0);
                        continue;
                }
                assert_int_equal(step.counters, OWN(0) | OWN(1));
                if (fabs(num[0] / 10 - rows[i].by_max) > 1e-9 ||
                    fabs(num[1] / 10 - rows[i].by_sum) > 1e-9)
                        fail_msg("row %zu: %g %g", i, num[0], num[1]);
        }
        /* Another policy's resources are others. */
        parse(&wants, IO("a", "1"));
        node_state_step(&before, &wants, reading, 1000000, &step);
        node_state_forget_own(&before);
        assert_null(before.own);
        node_state_step(&before, &wants, reading, 1010000, &step);
        assert_int_equal(step.counters, 0);
        node_state_step(&before, &wants, reading, 1020000, &step);
        assert_int_equal(step.counters, OWN(0) | OWN(1));
        node_state_done(&before);
        /* What was a gauge has left nothing to compare a counter with. */
        struct node_wants gauges;
        node_wants_init(&gauges, &(struct node_wants_options){
                                         .resources = OWN(0), .own = &gauge, .own_count = 1});
        parse(&gauges, IO("a", "1"));
        node_state_step(&before, &gauges, reading, 0, &step);
        assert_int_equal(step.gauges, OWN(0));
        parse(&wants, IO("a", "2"));
        node_state_step(&before, &wants, reading, 10000, &step);
        assert_int_equal(step.counters, 0);
        node_state_done(&before);
}

#define REQUESTS(more, value) "requests{ingress=\"shop\"" more "} " value "\n"

/* Label sets that come with every scrape begin at their first value, and leave the others alone. */
TEST(new_label_sets) {
        static const char *const pages[] = {
                REQUESTS("", "1000") REQUESTS(",path=\"/p0\"", "1"),
                REQUESTS("", "1500") REQUESTS(",path=\"/p0\"", "1")
                        REQUESTS(",path=\"/p1\"", "9e9"),
                REQUESTS("", "2000") REQUESTS(",path=\"/p2\"", "7")
                        REQUESTS(",path=\"/p1\"", "9e9"),
        };
        static const struct policy_resource own[] = {{.series = "requests",
                                                      .type = POLICY_COUNTER,
                                                      .reduce = POLICY_REDUCE_SUM,
                                                      .capacity = 1000}};
        _cleanup_(node_state_done) struct node_state before = NODE_STATE_NULL;
        struct node_wants wants;
        struct window_step step;

        node_wants_init(&wants, &(struct node_wants_options){
                                        .resources = OWN(0), .own = own, .own_count = 1});
        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                parse(&wants, pages[i]);
                node_state_step(&before, &wants, reading, 1000 * (int64_t)i, &step);
                assert_int_equal(step.counters, i == 0 ? 0 : OWN(0));
                assert_true(i == 0 || fabs(step.num[METRIC_RESOURCE_COUNT] - 0.5) < 1e-9);
        }
}

/* More devices than there can be, and every one of them wanted: bounded, and unusable. */
TEST(floods) {
        static const struct policy_resource own[] = {{.series = "s", .capacity = 1}};
        _cleanup_(buf_done) struct buf page = BUF_INIT(4 << 20);
        struct node_wants wants;

        for (unsigned i = 0; !page.overflow; i++)
                buf_printf(&page,
                           "node_network_receive_bytes_total{device=\"eth%u\"} 1\n"
                           "node_filesystem_size_bytes{device=\"/dev/a%u\",fstype=\"a\","
                           "mountpoint=\"/%u\"} 1\n"
                           "s{a=\"%u\"} 1\n",
                           i, i, i, i);
        node_wants_init(&wants, &(struct node_wants_options){.resources = NET | BIT(FS) | OWN(0),
                                                             .own = own,
                                                             .own_count = 1});
        node_reading_parse(reading, &wants, page.data, page.len, true);
        assert_int_equal(reading->usable, 0);
        for (unsigned r = 0; r <= METRIC_RESOURCE_COUNT; r++)
                assert_true(!(wants.resources >> r & 1) ||
                            strcmp(reading->why[r], "the page has more than 1024 such series") ==
                                    0);
        assert_true(reading->unusable > NODE_MAX_DEVICES);
}

TEST_GROUP(set_up, tear_down)
