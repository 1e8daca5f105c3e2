#include "controller/exposition/node_filesystem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/glob.h"

static bool begins(const struct exposition_label *label, const char *prefix) {
        size_t len = strlen(prefix);

        return label->value_len >= len && memcmp(label->value, prefix, len) == 0;
}

static bool is_local(const struct exposition_label *device, const struct exposition_label *type) {
        static const char *const images[] = {"cramfs", "erofs", "iso9660", "romfs", "squashfs"};

        for (size_t i = 0; i < ARRAY_LEN(images); i++)
                if (exposition_label_is(type, images[i]))
                        return false;
        return (begins(device, "/dev/") && !begins(device, "/dev/zram") &&
                !begins(type, "fuse.")) ||
               exposition_label_is(type, "zfs");
}

static bool is_of_the_node(const struct exposition_label *mountpoint) {
        static const char *const not_of_the_node[] = {
                "*/boot",
                "*/boot/*",
                "*/efi",
                "*/efi/*",
                "*/oem",
                "*/oem/*",
                "*/pods/*/volumes/*",
                "*/pods/*/volume-subpaths/*",
                "*/kubelet/plugins/*",
                "*/plugins/kubernetes.io/*",
        };

        for (size_t i = 0; i < ARRAY_LEN(not_of_the_node); i++)
                if (glob_matches(not_of_the_node[i], mountpoint->value, mountpoint->value_len))
                        return false;
        return true;
}

bool node_filesystem_take(struct series_list *series, const struct exposition_sample *sample) {
        const struct exposition_label *device = exposition_label(sample, "device");
        const struct exposition_label *type = exposition_label(sample, "fstype");
        const struct exposition_label *mountpoint = exposition_label(sample, "mountpoint");

        if (!device || !type || !mountpoint)
                return false;
        if (!is_local(device, type) || !is_of_the_node(mountpoint))
                return true;
        uint64_t id = hash_fnv1a(HASH_FNV1A_INIT, device->value, device->value_len);
        id = hash_fnv1a(id, "", 1); /* no label has a NUL: "a" on "bc" is not "ab" on "c" */
        return series_list_add(series, hash_fnv1a(id, mountpoint->value, mountpoint->value_len),
                               sample->value, series_value_is_within(sample->value, DBL_MAX));
}

static bool is_read_only(const struct series_list *const *fields, uint64_t id) {
        const double *value = series_list_find(fields[FILESYSTEM_READ_ONLY], id);

        return value && *value == 1;
}

const char *node_filesystem_finish(const struct series_list *const *fields, double *ret_ratio) {
        static const char inconsistent[] = "a filesystem's size and available bytes are "
                                           "inconsistent";
        const struct series_list *sizes = fields[FILESYSTEM_SIZE];
        const struct series_list *availables = fields[FILESYSTEM_AVAILABLE];
        double fullest = -1;

        for (size_t i = 0; i < availables->count; i++) {
                const struct node_device *item = &availables->items[i];
                if (!series_list_find(sizes, item->id) && !is_read_only(fields, item->id))
                        return inconsistent;
        }
        for (size_t i = 0; i < sizes->count; i++) {
                const struct node_device *size = &sizes->items[i];
                const double *available = series_list_find(availables, size->id);
                if (is_read_only(fields, size->id))
                        continue;
                double ratio = 0;
                if (!available ||
                    (size->value > 0 && !series_used_ratio(*available, size->value, &ratio)))
                        return inconsistent;
                if (size->value > 0)
                        fullest = fmax(fullest, ratio);
        }
        if (fullest < 0)
                return "no local filesystem is considered";
        *ret_ratio = fullest;
        return NULL;
}
