#include "controller/exposition/node_reading.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "policy/annotation.h"

enum { MODE_NAME_MAX = 16, MODE_MAX = 32 };
static_assert(MODE_MAX <= 32, "cpu_sum's seen has a bit for each");

/* The sums of one CPU while the exposition is read. */
struct cpu_sum {
        uint32_t seen; /* modes, a bit each */
        uint32_t fingerprint;
        double idle_s;
        double busy_s;
};

struct node_reading_scratch {
        uint32_t broken; /* built-in families with an unusable value, a bit each */
        struct series_list series[NODE_MAX_FAMILIES]; /* of built-in families except the CPUs' */
        uint64_t ready_seen;

        bool is_idle_missing;               /* for a CPU */
        uint32_t cpu_end;                   /* the largest id plus one */
        struct cpu_sum cpus[NODE_MAX_CPUS]; /* by id; all zero between two expositions */
        int idle_mode;                      /* its number; -1: not seen yet */
        size_t mode_count;
        struct {
                char name[MODE_NAME_MAX];
                size_t len;
                uint32_t hash;
        } modes[MODE_MAX];

        size_t cpu_cap;
        size_t link_cap;
        uint32_t own_broken; /* resources that the policy declares, a bit each */
        struct node_resource_tally own[POLICY_MAX_RESOURCES];
};

struct node_reading *node_reading_new(void) {
        struct node_reading *reading = xcalloc(1, sizeof(*reading));

        reading->scratch = xcalloc(1, sizeof(*reading->scratch));
        return reading;
}

void node_reading_free(struct node_reading *reading) {
        free(reading->cpus);
        free(reading->links);
        for (size_t i = 0; i < NODE_MAX_FAMILIES; i++)
                free(reading->scratch->series[i].items);
        for (size_t i = 0; i < POLICY_MAX_RESOURCES; i++) {
                free(reading->scratch->own[i].used.items);
                free(reading->scratch->own[i].capacity.items);
        }
        free(reading->scratch);
        free(reading);
}

static void begin_reading(struct node_reading *reading, const struct node_wants *wants) {
        struct node_reading_scratch *scratch = reading->scratch;

        scratch->broken = 0;
        scratch->ready_seen = 0;
        scratch->is_idle_missing = false;
        scratch->idle_mode = -1;
        scratch->mode_count = 0;
        scratch->own_broken = 0;
        for (size_t i = 0; i < NODE_MAX_FAMILIES; i++)
                scratch->series[i].count = 0;
        for (size_t i = 0; i < wants->own_count; i++)
                scratch->own[i].used.count = scratch->own[i].capacity.count = 0;
        *reading = (struct node_reading){
                .cpus = reading->cpus,
                .links = reading->links,
                .scratch = scratch,
        };
}

/* Three thousand years. Far above, adding an interval no longer changes the number, and a
 * nonsensical counter looks like one that stands still. */
static const double COUNTER_MAX_S = 1e11;

/* The number of a mode, in the order of appearance in this exposition; -1 if it cannot have one. */
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
        if (len == 4 && memcmp(label->value, "idle", len) == 0)
                scratch->idle_mode = (int)i;
        return (int)i;
}

static bool cpu_id_parse(const struct exposition_label *label, uint32_t *ret_id) {
        uint64_t id = 0;

        if (!label || !number_parse_u64(label->value, label->value_len, &id) || id >= NODE_MAX_CPUS)
                return false;
        *ret_id = (uint32_t)id;
        return true;
}

/* The take_* functions return false if the sample makes its family unusable. */

static bool take_cpu(struct node_reading *reading, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        const struct exposition_label *mode_label = exposition_label(sample, "mode");
        uint32_t id = 0;

        if (!mode_label || !cpu_id_parse(exposition_label(sample, "cpu"), &id))
                return false;
        /* The time of guests is part of user and nice. node_exporter has a family for it. */
        if (exposition_label_is(mode_label, "guest") ||
            exposition_label_is(mode_label, "guest_nice"))
                return true;
        int mode = find_mode(scratch, mode_label);
        struct cpu_sum *cpu = &scratch->cpus[id];
        if (mode >= 0 && cpu->seen >> mode & 1)
                return true;
        if (mode < 0 || !series_value_is_within(sample->value, COUNTER_MAX_S))
                return false;
        if (id >= scratch->cpu_end)
                scratch->cpu_end = id + 1;
        cpu->seen |= 1u << mode;
        cpu->fingerprint += scratch->modes[mode].hash;
        if (mode == scratch->idle_mode)
                cpu->idle_s = sample->value;
        else
                cpu->busy_s += sample->value;
        return true;
}

/* Move the sums to the reading's array in ascending order, and zero them for the next exposition.
 */
static void finish_cpus(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;
        int idle = scratch->idle_mode;

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

static bool take_disk(struct series_list *series, const struct exposition_sample *sample) {
        const struct exposition_label *label = exposition_label(sample, "device");

        return label &&
               series_list_add(series, hash_fnv1a(HASH_FNV1A_INIT, label->value, label->value_len),
                               sample->value, series_value_is_within(sample->value, COUNTER_MAX_S));
}

/* For a family with a single series. */
static bool take_single(struct series_list *series, double value, double max) {
        return series_list_add(series, 0, value, series_value_is_within(value, max));
}

/* The first of a repeated series counts. */
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
        struct series_list *series = &reading->scratch->series[sample->family];

        if (family->is_host_name) {
                take_host_name(reading, sample);
                return true;
        }
        switch ((enum metric_kind)family->kind) {
        case METRIC_KIND_CPU:
                return take_cpu(reading, sample);
        case METRIC_KIND_TIME:
                return take_single(series, sample->value, COUNTER_MAX_S);
        case METRIC_KIND_DISK:
                return take_disk(series, sample);
        case METRIC_KIND_NETWORK:
                return node_network_take(series, &wants->network, family->field, sample);
        case METRIC_KIND_FILESYSTEM:
                return node_filesystem_take(series, sample);
        case METRIC_KIND_SHARE:
        case METRIC_KIND_PER_CPU:
        default:
                return take_single(series, sample->value, DBL_MAX);
        }
}

/* A family may be the series or the capacity of several resources. */
static void take_own(struct node_reading *reading, const struct node_wants *wants,
                     const struct node_family *family, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;

        for (unsigned i = 0; (family->used_by | family->capacity_of) >> i != 0; i++) {
                struct node_resource_tally *tally = &scratch->own[i];
                const struct policy_resource *own = &wants->own[i];
                if ((family->used_by >> i & 1 && !node_resource_take(&tally->used, own, sample)) ||
                    (family->capacity_of >> i & 1 &&
                     !node_resource_take(&tally->capacity, own, sample))) {
                        scratch->own_broken |= 1u << i;
                        reading->unusable++;
                }
        }
}

/* The first of a repeated series counts. */
static void take_ready_value(struct node_reading *reading, size_t index, double value) {
        uint64_t bit = UINT64_C(1) << index;
        bool is_first = !(reading->scratch->ready_seen & bit);

        reading->scratch->ready_seen |= bit;
        if (is_first && series_value_is_within(value, DBL_MAX)) {
                reading->ready_usable |= bit;
                reading->ready[index] = fmin(value, ANNOTATION_RATIO_MAX);
        } else if (is_first) {
                reading->unusable++;
        }
}

static const char may_be_cut[] = "the page may be truncated";
static const char no_series[] = "the page has no such series";
static const char broken_value[] = "a value on the page is invalid, or a series has more than 128 "
                                   "labels";
static const char too_many[] = "the page has more than 1024 such series";
static_assert(EXPOSITION_MAX_LABELS == 128 && NODE_MAX_DEVICES == 1024, "as the reasons say");

/* Why a family with an unusable series is broken. */
static const char *why_broken(const struct series_list *series) {
        return series->count == NODE_MAX_DEVICES ? too_many : broken_value;
}

/* @reserved: part of the total that does not count; NULL: the resource has none */
static const char *finish_share(const struct series_list *unused, const struct series_list *total,
                                const struct series_list *reserved, double *ret_ratio) {
        if (unused->count == 0 || total->count == 0)
                return no_series;
        double whole = total->items[0].value;
        if (reserved && reserved->count > 0)
                whole -= reserved->items[0].value;
        if (whole <= 0)
                return "the node has none: its total is 0";
        return series_used_ratio(unused->items[0].value, whole, ret_ratio) ? NULL : broken_value;
}

static const char *finish_cpu(const struct node_reading *reading) {
        if (reading->cpu_count == 0)
                return no_series;
        return reading->scratch->is_idle_missing ? broken_value : NULL;
}

/* @ret_sum: node_state_step() divides it by the number of CPUs */
static const char *finish_per_cpu(const struct node_reading *reading, const struct series_list *sum,
                                  double *ret_sum) {
        const char *why = sum->count > 0 ? finish_cpu(reading) : no_series;

        if (!why)
                *ret_sum = sum->items[0].value;
        return why;
}

static const char *finish_seconds(struct node_reading *reading, unsigned resource,
                                  const struct series_list *series) {
        reading->series[resource] = series;
        return series->count > 0 ? NULL : no_series;
}

/* Fill reading->links, which all network resources share. */
static const char *finish_network(struct node_reading *reading, const struct node_wants *wants,
                                  const struct series_list *const *fields) {
        struct node_reading_scratch *scratch = reading->scratch;

        if (reading->link_count > 0)
                return NULL;
        if (scratch->link_cap < fields[NETWORK_RECEIVED]->count) {
                scratch->link_cap = fields[NETWORK_RECEIVED]->cap;
                reading->links = xreallocarray(reading->links, scratch->link_cap,
                                               sizeof(*reading->links));
        }
        return node_network_finish(fields, &wants->network, reading->links, &reading->link_count);
}

/* Return: NULL, or why the resource is not usable. */
static const char *finish_built_in(struct node_reading *reading, const struct node_wants *wants,
                                   unsigned resource, bool is_complete) {
        enum metric_kind kind = metric_resource_rows[resource].kind;
        const struct series_list *fields[METRIC_MAX_FAMILIES];
        double *value = &reading->values[resource];
        bool has_third = metric_resource_rows[resource].families[2].name != NULL;

        /* A part of a set would look like the whole. */
        if (!is_complete && kind != METRIC_KIND_SHARE && kind != METRIC_KIND_TIME)
                return may_be_cut;
        for (size_t i = 0; i < METRIC_MAX_FAMILIES; i++)
                fields[i] = &reading->scratch->series[wants->resource_family[resource][i]];
        if (reading->scratch->broken & wants->resource_families[resource])
                return why_broken(fields[0]);
        switch (kind) {
        case METRIC_KIND_CPU:
                return finish_cpu(reading);
        case METRIC_KIND_TIME:
        case METRIC_KIND_DISK:
                return finish_seconds(reading, resource, fields[0]);
        case METRIC_KIND_NETWORK:
                return finish_network(reading, wants, fields);
        case METRIC_KIND_SHARE:
                return finish_share(fields[0], fields[1], has_third ? fields[2] : NULL, value);
        case METRIC_KIND_PER_CPU:
                return finish_per_cpu(reading, fields[0], value);
        case METRIC_KIND_FILESYSTEM:
        default:
                return node_filesystem_finish(fields, value);
        }
}

static const char *finish_own(struct node_reading *reading, const struct node_wants *wants,
                              unsigned i, bool is_complete) {
        const struct policy_resource *resource = &wants->own[i];
        const struct node_resource_tally *tally = &reading->scratch->own[i];
        double *capacity = &reading->capacities[i];

        if (resource->type == POLICY_COUNTER)
                reading->series[METRIC_RESOURCE_COUNT + i] = &tally->used;
        if (!is_complete)
                return may_be_cut;
        if (reading->scratch->own_broken >> i & 1)
                return why_broken(&tally->used);
        if (tally->used.count == 0)
                return "no series on the page matches its name and labels";
        const char *why = node_resource_capacity(tally, resource, capacity);
        if (!why && resource->type == POLICY_GAUGE &&
            !node_resource_ratio(node_resource_reduce(resource->reduce, &tally->used), *capacity,
                                 &reading->values[METRIC_RESOURCE_COUNT + i]))
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

        begin_reading(reading, wants);
        exposition_begin(&skim, &wants->set, text, text_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                const struct node_family *family = &wants->families[sample.family];
                if (family->collector && !take_built_in(reading, wants, &sample)) {
                        reading->scratch->broken |= 1u << sample.family;
                        reading->unusable++;
                }
                if (family->used_by | family->capacity_of)
                        take_own(reading, wants, family, &sample);
                if (family->ready > 0)
                        take_ready_value(reading, family->ready - 1u, sample.value);
        }
        for (size_t i = 0; i < wants->set.count; i++) {
                if (!(skim.malformed_families[i / 64] >> i % 64 & 1))
                        continue;
                if (wants->families[i].collector)
                        reading->scratch->broken |= 1u << i;
                reading->scratch->own_broken |= wants->families[i].used_by |
                                                wants->families[i].capacity_of;
        }
        reading->malformed = skim.malformed;
        finish_cpus(reading);
        finish_resources(reading, wants, is_complete);
}
