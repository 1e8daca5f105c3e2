#include "policy/estimate/workload.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"

/* The standard deviation of a pod of which nothing is measured, as a share of what it is expected
 * to use. */
static const double UNKNOWN_SPREAD_RATIO[ESTIMATE_RESOURCE_COUNT] = {2, 0.5};

struct workload {
        struct workload_measure measure;
        uint32_t part, generation; /* of the last part that had it */
        size_t name_len;
        char name[]; /* with a NUL */
};

struct workload_set {
        struct strmap by_key; /* struct workload, by workload_key() */
        uint32_t generation;  /* of the last part */
};

struct workload_set *workload_set_new(void) {
        return xcalloc(1, sizeof(struct workload_set));
}

void workload_set_free(struct workload_set *set) {
        if (!set)
                return;
        strmap_done_values(&set->by_key);
        free(set);
}

uint64_t workload_key(const char *name, size_t name_len) {
        return name_len > 0 ? strmap_hash(name, name_len) : 0;
}

static struct workload *find(const struct workload_set *set, uint64_t key) {
        return strmap_get(&set->by_key, (const char *)&key, sizeof(key));
}

const struct workload_measure *workload_set_find(const struct workload_set *set, uint64_t key) {
        const struct workload *workload = key != 0 ? find(set, key) : NULL;

        return workload ? &workload->measure : NULL;
}

size_t workload_set_count(const struct workload_set *set) {
        return set->by_key.len;
}

void workload_set_part_begins(struct workload_set *set) {
        set->generation++;
}

void workload_set_measure(struct workload_set *set, uint32_t part, const char *name,
                          size_t name_len, const struct workload_measure *measure) {
        uint64_t key = workload_key(name, name_len);
        struct workload *workload = find(set, key);

        if (!workload) {
                if (set->by_key.len >= WORKLOADS_MAX)
                        return;
                workload = xcalloc(1, sizeof(*workload) + name_len + 1);
                workload->name_len = name_len;
                memcpy(workload->name, name, name_len);
                (void)strmap_put(&set->by_key, (const char *)&key, sizeof(key), workload);
        }
        workload->measure = *measure;
        workload->part = part;
        workload->generation = set->generation;
}

void workload_set_part_ended(struct workload_set *set, uint32_t part) {
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_key) {
                const struct workload *workload = entry->value;
                if (workload->part == part && workload->generation != set->generation)
                        free(strmap_remove(&set->by_key, entry->key, entry->key_len));
        }
}

void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const char *name, size_t name_len,
                                  const struct workload_measure *measure),
                       void *userdata) {
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_key) {
                const struct workload *workload = entry->value;
                fn(userdata, workload->name, workload->name_len, &workload->measure);
        }
}

struct pod_load workload_expect(const struct workload_measure *measure,
                                const struct pod_load *request, const struct load_factor *factor,
                                struct pod_load *ret_spread) {
        struct pod_load load = measure ? measure->mean : *request, spread;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                load.of[r] *= measure ? 1 : factor->ratio[r];
                spread.of[r] = measure ? measure->spread.of[r]
                                       : UNKNOWN_SPREAD_RATIO[r] * load.of[r];
        }
        if (ret_spread)
                *ret_spread = spread;
        return load;
}
