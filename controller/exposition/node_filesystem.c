#include "controller/exposition/node_filesystem.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "controller/exposition/id_list.h"

static bool begins(const struct exposition_label *label, const char *prefix) {
        size_t len = strlen(prefix);

        return label->value_len >= len && memcmp(label->value, prefix, len) == 0;
}

static bool is_local(const struct exposition_label *device, const struct exposition_label *type) {
        return (begins(device, "/dev/") && !begins(type, "fuse.")) ||
               exposition_label_is(type, "zfs");
}

static bool is_of_the_node(const struct exposition_label *mountpoint) {
        return !exposition_label_is(mountpoint, "/boot") && !begins(mountpoint, "/boot/") &&
               !begins(mountpoint, "/var/lib/kubelet/pods/") &&
               !begins(mountpoint, "/var/lib/kubelet/plugins/");
}

enum node_take node_filesystem_take(struct node_filesystem_tally *tally,
                                    enum node_filesystem_field field,
                                    const struct exposition_sample *sample) {
        const struct exposition_label *device = exposition_label(sample, "device");
        const struct exposition_label *type = exposition_label(sample, "fstype");
        const struct exposition_label *mountpoint = exposition_label(sample, "mountpoint");

        if (!device || !type || !mountpoint)
                return NODE_UNUSABLE;
        if (!is_local(device, type) || !is_of_the_node(mountpoint))
                return NODE_NOT_COUNTED;
        if (!number_is_finite(sample->value) || sample->value < 0)
                return NODE_UNUSABLE;
        uint64_t id = hash_fnv1a(HASH_FNV1A_INIT, device->value, device->value_len);
        id = hash_fnv1a(id, "", 1); /* which no label has: "a" on "bc" is not "ab" on "c" */
        struct node_filesystem *filesystem = id_list_get(
                &tally->filesystems, &tally->count, &tally->cap, sizeof(*filesystem),
                NODE_MAX_DEVICES, hash_fnv1a(id, mountpoint->value, mountpoint->value_len));
        if (!filesystem)
                return NODE_UNUSABLE;
        if (filesystem->seen >> field & 1)
                return NODE_REPEATED;
        filesystem->seen |= 1u << field;
        filesystem->values[field] = sample->value;
        return NODE_TAKEN;
}

const char *node_filesystem_finish(const struct node_filesystem_tally *tally, double *ret_ratio) {
        static const uint32_t both = 1u << FILESYSTEM_SIZE | 1u << FILESYSTEM_AVAILABLE;
        double fullest = -1;

        for (size_t i = 0; i < tally->count; i++) {
                const struct node_filesystem *filesystem = &tally->filesystems[i];
                double size = filesystem->values[FILESYSTEM_SIZE];
                double available = filesystem->values[FILESYSTEM_AVAILABLE];
                /* An exporter that cannot look at one says only that. */
                if ((filesystem->seen & both) == 0 || filesystem->values[FILESYSTEM_READ_ONLY] == 1)
                        continue;
                if ((filesystem->seen & both) != both || available > size)
                        return "a filesystem's size and available bytes are inconsistent";
                if (size > 0)
                        fullest = fmax(fullest, 1 - available / size);
        }
        if (fullest < 0)
                return "no local filesystem is considered";
        *ret_ratio = fullest;
        return NULL;
}
