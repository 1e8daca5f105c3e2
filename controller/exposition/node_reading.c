#include "controller/exposition/node_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "controller/exposition/id_list.h"
#include "policy/annotation.h"

enum { MODE_NAME_MAX = 16, MODE_MAX = 32 };
static_assert(MODE_MAX <= 32, "cpu_sum's seen has a bit for each");

/* One CPU while the exposition is read. */
struct cpu_sum {
        uint32_t seen; /* modes, a bit each */
        uint32_t fingerprint;
        double idle_s;
        double busy_s;
};

struct node_reading_scratch {
        uint32_t broken; /* built-in families with a value that cannot be used, a bit each */
        uint32_t seen;   /* those with a single series that had it, a bit each */
        double value[NODE_MAX_FAMILIES];
        uint64_t ready_seen;

        bool is_idle_missing;     /* of a CPU */
        bool is_network_finished; /* network_why is set */
        const char *network_why;
        uint32_t cpu_end;                   /* one more than the largest id met */
        struct cpu_sum cpus[NODE_MAX_CPUS]; /* by id; all zero between two expositions */
        size_t mode_count;
        struct {
                char name[MODE_NAME_MAX];
                size_t len;
                uint32_t hash;
        } modes[MODE_MAX];

        size_t cpu_cap;
        size_t disk_cap;
        size_t link_cap;
        struct node_network_tally network;
        struct node_filesystem_tally filesystems;
        uint32_t own_broken; /* resources of the policy's own, a bit each */
        struct node_resource_tally own[POLICY_MAX_RESOURCES];
};

struct node_reading *node_reading_new(void) {
        struct node_reading *reading = xcalloc(1, sizeof(*reading));

        reading->scratch = xcalloc(1, sizeof(*reading->scratch));
        return reading;
}

void node_reading_free(struct node_reading *reading) {
        if (!reading)
                return;
        free(reading->cpus);
        free(reading->disks);
        free(reading->links);
        free(reading->scratch->network.devices);
        free(reading->scratch->filesystems.filesystems);
        for (size_t i = 0; i < POLICY_MAX_RESOURCES; i++) {
                free(reading->scratch->own[i].used.items);
                free(reading->scratch->own[i].capacity.items);
        }
        free(reading->scratch);
        free(reading);
}

static void begin_reading(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;

        scratch->broken = 0;
        scratch->seen = 0;
        scratch->ready_seen = 0;
        scratch->is_idle_missing = scratch->is_network_finished = false;
        scratch->mode_count = 0;
        scratch->network.count = 0;
        scratch->filesystems.count = 0;
        scratch->own_broken = 0;
        for (size_t i = 0; i < POLICY_MAX_RESOURCES; i++)
                scratch->own[i].used.count = scratch->own[i].capacity.count = 0;
        *reading = (struct node_reading){
                .cpus = reading->cpus,
                .disks = reading->disks,
                .links = reading->links,
                .scratch = scratch,
        };
}

/* Three thousand years; far beyond, adding an interval no longer changes the number, and a counter
 * that is nonsense looks like one that stands still. */
static const double COUNTER_MAX_S = 1e11;

static bool is_usable_value(double value) {
        return number_is_finite(value) && value >= 0;
}

static bool is_counter(double value_s) {
        return is_usable_value(value_s) && value_s <= COUNTER_MAX_S;
}

/* The number of a mode in this exposition, in the order of appearance; -1 when it cannot have one.
 */
static int find_mode(struct node_reading_scratch *scratch, const struct exposition_label *label) {
        size_t len = label->value_len;

        for (size_t i = 0; i < scratch->mode_count; i++) {
                if (scratch->modes[i].len == len &&
                    memcmp(scratch->modes[i].name, label->value, len) == 0)
                        return (int)i;
        }
        if (scratch->mode_count == MODE_MAX || len == 0 || len > MODE_NAME_MAX)
                return -1;
        size_t i = scratch->mode_count++;
        memcpy(scratch->modes[i].name, label->value, len);
        scratch->modes[i].len = len;
        scratch->modes[i].hash = (uint32_t)(hash_fnv1a(HASH_FNV1A_INIT, label->value, len) >> 16);
        return (int)i;
}

static bool cpu_id_parse(const struct exposition_label *label, uint32_t *ret_id) {
        uint64_t id = 0;

        if (!label || !number_parse_u64(label->value, label->value_len, &id) || id >= NODE_MAX_CPUS)
                return false;
        *ret_id = (uint32_t)id;
        return true;
}

/* The take_* functions return false when the value makes the family unusable. */

static bool take_cpu(struct node_reading *reading, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        const struct exposition_label *mode_label = exposition_label(sample, "mode");
        uint32_t id = 0;

        if (!mode_label || !cpu_id_parse(exposition_label(sample, "cpu"), &id)) {
                reading->unusable++;
                return false;
        }
        int mode = find_mode(scratch, mode_label);
        struct cpu_sum *cpu = &scratch->cpus[id];
        if (mode >= 0 && cpu->seen >> mode & 1) {
                reading->duplicates++;
                return true;
        }
        if (mode < 0 || !is_counter(sample->value)) {
                reading->unusable++;
                return false;
        }
        if (id >= scratch->cpu_end)
                scratch->cpu_end = id + 1;
        cpu->seen |= 1u << mode;
        cpu->fingerprint += scratch->modes[mode].hash;
        if (exposition_label_is(mode_label, "idle"))
                cpu->idle_s = sample->value;
        else
                cpu->busy_s += sample->value;
        return true;
}

static int cpu_idle_bit(struct node_reading_scratch *scratch) {
        for (size_t i = 0; i < scratch->mode_count; i++) {
                if (scratch->modes[i].len == 4 && memcmp(scratch->modes[i].name, "idle", 4) == 0)
                        return (int)i;
        }
        return -1;
}

/* The sums become the reading's array, ascending; the table is left zero for the next exposition.
 */
static void finish_cpus(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;
        int idle = cpu_idle_bit(scratch);

        for (uint32_t id = 0; id < scratch->cpu_end; id++) {
                struct cpu_sum *sum = &scratch->cpus[id];
                if (sum->seen == 0)
                        continue;
                if (idle < 0 || !(sum->seen >> idle & 1))
                        scratch->is_idle_missing = true;
                mem_grow(&reading->cpus, reading->cpu_count, &scratch->cpu_cap);
                reading->cpus[reading->cpu_count++] = (struct node_cpu){
                        .id = id,
                        .modes = sum->fingerprint,
                        .idle_s = sum->idle_s,
                        .busy_s = sum->busy_s,
                };
                *sum = (struct cpu_sum){0};
        }
        scratch->cpu_end = 0;
}

static bool take_disk(struct node_reading *reading, const struct exposition_sample *sample) {
        const struct exposition_label *label = exposition_label(sample, "device");
        size_t before = reading->disk_count;
        struct node_device *disk = NULL;

        if (label && is_counter(sample->value))
                disk = id_list_get(&reading->disks, &reading->disk_count,
                                   &reading->scratch->disk_cap, sizeof(*disk), NODE_MAX_DEVICES,
                                   hash_fnv1a(HASH_FNV1A_INIT, label->value, label->value_len));
        if (!disk) {
                reading->unusable++;
                return false;
        }
        if (reading->disk_count == before)
                reading->duplicates++;
        else
                disk->value = sample->value;
        return true;
}

/* Counts what became of a sample; false when it makes its resource unusable. */
static bool count_take(struct node_reading *reading, enum node_take take) {
        reading->duplicates += take == NODE_REPEATED;
        reading->unusable += take == NODE_UNUSABLE;
        return take != NODE_UNUSABLE;
}

/* A family with a single series. */
static bool take_single(struct node_reading *reading, size_t family, bool is_time, double value) {
        struct node_reading_scratch *scratch = reading->scratch;

        if (scratch->seen >> family & 1) {
                reading->duplicates++;
                return true;
        }
        scratch->seen |= 1u << family;
        if (!(is_time ? is_counter(value) : is_usable_value(value))) {
                reading->unusable++;
                return false;
        }
        scratch->value[family] = value;
        return true;
}

/* Of a repeated series the first one counts. */
static void take_host_name(struct node_reading *reading, const struct exposition_sample *sample) {
        const struct exposition_label *label = exposition_label(sample, "nodename");
        char *name = reading->host_name;

        if (name[0] || !label || !exposition_label_value(label, name, sizeof(reading->host_name)))
                return;
        for (; *name; name++)
                if (*name >= 'A' && *name <= 'Z')
                        *name = (char)(*name - 'A' + 'a');
}

/* For the built-in resources. */
static bool take_built_in(struct node_reading *reading, const struct node_wants *wants,
                          const struct exposition_sample *sample) {
        const struct node_family *family = &wants->families[sample->family];
        struct node_reading_scratch *scratch = reading->scratch;

        switch ((enum node_family_role)family->role) {
        case NODE_FAMILY_CPU:
                return take_cpu(reading, sample);
        case NODE_FAMILY_DISK:
                return take_disk(reading, sample);
        case NODE_FAMILY_NETWORK:
                return count_take(reading, node_network_take(&scratch->network, &wants->network,
                                                             family->field, sample));
        case NODE_FAMILY_FILESYSTEM:
                return count_take(reading, node_filesystem_take(&scratch->filesystems,
                                                                family->field, sample));
        case NODE_FAMILY_SINGLE:
        case NODE_FAMILY_SINGLE_TIME:
                return take_single(reading, sample->family, family->role == NODE_FAMILY_SINGLE_TIME,
                                   sample->value);
        case NODE_FAMILY_HOST_NAME:
                take_host_name(reading, sample);
                return true;
        case NODE_FAMILY_NOT_BUILT_IN:
        default:
                return true;
        }
}

/* One family may be several resources' series or capacity. */
static void take_own(struct node_reading *reading, const struct node_wants *wants,
                     const struct node_family *family, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        uint32_t used_by = family->used_by, capacity_of = family->capacity_of;

        for (unsigned i = 0; (used_by | capacity_of) >> i != 0; i++) {
                struct node_resource_tally *tally = &scratch->own[i];
                const struct policy_resource *own = &wants->own[i];
                if ((used_by >> i & 1 &&
                     !count_take(reading, node_resource_take(&tally->used, own, sample))) ||
                    (capacity_of >> i & 1 &&
                     !count_take(reading, node_resource_take(&tally->capacity, own, sample))))
                        scratch->own_broken |= 1u << i;
        }
}

static void take_ready_value(struct node_reading *reading, size_t index, double value) {
        uint64_t bit = UINT64_C(1) << index;

        if (reading->scratch->ready_seen & bit) {
                reading->duplicates++;
                return;
        }
        reading->scratch->ready_seen |= bit;
        if (!is_usable_value(value)) {
                reading->unusable++;
                return;
        }
        reading->ready_usable |= bit;
        reading->ready[index] = fmin(value, ANNOTATION_RATIO_MAX);
}

static const char may_be_cut[] = "the page may be truncated";
static const char broken_value[] = "a value on the page is invalid";
static const char no_series[] = "the page has no such series";

/* The value of a resource's single series at @place of its row. */
static bool single(const struct node_reading *reading, const struct node_wants *wants,
                   unsigned resource, size_t place, double *ret) {
        size_t family = wants->resource_family[resource][place];

        *ret = reading->scratch->value[family];
        return reading->scratch->seen >> family & 1;
}

static const char *finish_share(struct node_reading *reading, const struct node_wants *wants,
                                unsigned resource) {
        double unused, total;

        if (!single(reading, wants, resource, 0, &unused) ||
            !single(reading, wants, resource, 1, &total))
                return no_series;
        if (unused > total)
                return broken_value;
        if (total <= 0)
                return "the node has none, its total is 0";
        reading->values[resource] = 1 - unused / total;
        return NULL;
}

static const char *finish_cpu(const struct node_reading *reading) {
        if (reading->cpu_count == 0)
                return no_series;
        return reading->scratch->is_idle_missing ? broken_value : NULL;
}

static const char *finish_per_cpu(struct node_reading *reading, const struct node_wants *wants,
                                  unsigned resource) {
        double value;

        if (!single(reading, wants, resource, 0, &value))
                return no_series;
        const char *why = finish_cpu(reading);
        if (!why)
                reading->values[resource] = fmin(value / (double)reading->cpu_count, 1);
        return why;
}

/* Fills reading->links; all network resources share them. */
static const char *finish_network(struct node_reading *reading, const struct node_wants *wants) {
        struct node_reading_scratch *scratch = reading->scratch;

        if (scratch->is_network_finished)
                return scratch->network_why;
        if (scratch->link_cap < scratch->network.count) {
                scratch->link_cap = scratch->network.cap;
                reading->links = xreallocarray(reading->links, scratch->link_cap,
                                               sizeof(*reading->links));
        }
        scratch->is_network_finished = true;
        scratch->network_why = node_network_finish(&scratch->network, &wants->network,
                                                   reading->links, &reading->link_count);
        return scratch->network_why;
}

/* Returns why the resource is not usable, or NULL. */
static const char *finish_built_in(struct node_reading *reading, const struct node_wants *wants,
                                   unsigned resource, bool is_complete) {
        enum metric_kind kind = metric_resource_rows[resource].kind;

        /* A part of a set would pass for the whole. */
        if (!is_complete && kind != METRIC_KIND_SHARE && kind != METRIC_KIND_TIME)
                return may_be_cut;
        if (reading->scratch->broken & wants->resource_families[resource])
                return broken_value;
        switch (kind) {
        case METRIC_KIND_CPU:
                return finish_cpu(reading);
        case METRIC_KIND_TIME:
                return single(reading, wants, resource, 0, &reading->values[resource]) ? NULL
                                                                                       : no_series;
        case METRIC_KIND_DISK:
                return reading->disk_count > 0 ? NULL : no_series;
        case METRIC_KIND_NETWORK:
                return finish_network(reading, wants);
        case METRIC_KIND_SHARE:
                return finish_share(reading, wants, resource);
        case METRIC_KIND_PER_CPU:
                return finish_per_cpu(reading, wants, resource);
        case METRIC_KIND_FILESYSTEM:
        default:
                return node_filesystem_finish(&reading->scratch->filesystems,
                                              &reading->values[resource]);
        }
}

static const char *finish_own(struct node_reading *reading, const struct node_wants *wants,
                              unsigned i, bool is_complete) {
        const struct policy_resource *resource = &wants->own[i];
        const struct node_resource_tally *tally = &reading->scratch->own[i];
        struct node_own *own = &reading->own[i];

        *own = (struct node_own){.series = tally->used.items, .series_count = tally->used.count};
        if (!is_complete)
                return may_be_cut;
        if (reading->scratch->own_broken >> i & 1)
                return broken_value;
        if (tally->used.count == 0)
                return "no series on the page matches its name and labels";
        const char *why = node_resource_capacity(tally, resource, &own->capacity);
        if (!why && resource->type == POLICY_GAUGE &&
            !node_resource_ratio(
                    node_resource_reduce(resource->reduce, own->series, own->series_count),
                    own->capacity, &own->ratio))
                why = "its value exceeds its capacity by far";
        return why;
}

static void finish_resources(struct node_reading *reading, const struct node_wants *wants,
                             bool is_complete) {
        for (unsigned r = 0; wants->resources >> r != 0; r++) {
                if (!(wants->resources >> r & 1))
                        continue;
                reading->why[r] = r < METRIC_RESOURCE_COUNT
                                          ? finish_built_in(reading, wants, r, is_complete)
                                          : finish_own(reading, wants, r - METRIC_RESOURCE_COUNT,
                                                       is_complete);
                if (!reading->why[r])
                        reading->usable |= NODE_RESOURCE_BIT(r);
        }
}

void node_reading_parse(struct node_reading *reading, const struct node_wants *wants,
                        const char *text, size_t text_bytes, bool is_complete) {
        struct exposition skim;
        struct exposition_sample sample;

        begin_reading(reading);
        exposition_begin(&skim, &wants->set, text, text_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                const struct node_family *family = &wants->families[sample.family];
                if (!take_built_in(reading, wants, &sample))
                        reading->scratch->broken |= 1u << sample.family;
                if (family->used_by | family->capacity_of)
                        take_own(reading, wants, family, &sample);
                if (family->ready > 0)
                        take_ready_value(reading, family->ready - 1u, sample.value);
        }
        for (size_t i = 0; i < wants->set.count; i++) {
                if (!(skim.malformed_families[i / 64] >> i % 64 & 1))
                        continue;
                if (wants->families[i].role != NODE_FAMILY_NOT_BUILT_IN)
                        reading->scratch->broken |= 1u << i;
                reading->scratch->own_broken |= wants->families[i].used_by |
                                                wants->families[i].capacity_of;
        }
        reading->samples = skim.samples;
        reading->malformed = skim.malformed;
        finish_cpus(reading);
        finish_resources(reading, wants, is_complete);
}
