#include "controller/page/node_reading.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "controller/page/id_list.h"

enum role {
        ROLE_NONE, /* only a ready-made metric */
        ROLE_CPU,
        ROLE_MEM_AVAILABLE,
        ROLE_MEM_TOTAL,
        ROLE_LOAD,
        ROLE_PSI_CPU, /* the three in the order of node_reading.psi_s */
        ROLE_PSI_MEM,
        ROLE_PSI_IO,
        ROLE_DISK,
        ROLE_NETWORK, /* as many as there are fields, in their order */
        ROLE_FILESYSTEM = ROLE_NETWORK + NETWORK_FIELD_COUNT, /* ditto */
        ROLE_COUNT = ROLE_FILESYSTEM + FILESYSTEM_FIELD_COUNT,
};

#define NETWORK_RESOURCES                                                                          \
        (NODE_RESOURCE_BIT(METRIC_NET) | NODE_RESOURCE_BIT(METRIC_NET_RX) |                        \
         NODE_RESOURCE_BIT(METRIC_NET_TX))
#define NETWORK(field, name, collector)                                                            \
        [ROLE_NETWORK + (field)] = {"node_network_" name, NETWORK_RESOURCES, collector}
#define FILESYSTEM(field, name)                                                                    \
        [ROLE_FILESYSTEM + (field)] = {"node_filesystem_" name, NODE_RESOURCE_BIT(METRIC_FS),      \
                                       "filesystem"}

static const struct {
        const char *family;
        uint32_t resources; /* that need it */
        const char *collector;
} roles[ROLE_COUNT] = {
        [ROLE_CPU] = {"node_cpu_seconds_total",
                      NODE_RESOURCE_BIT(METRIC_CPU) | NODE_RESOURCE_BIT(METRIC_LOAD), "cpu"},
        [ROLE_MEM_AVAILABLE] = {"node_memory_MemAvailable_bytes", NODE_RESOURCE_BIT(METRIC_MEM),
                                "meminfo"},
        [ROLE_MEM_TOTAL] = {"node_memory_MemTotal_bytes", NODE_RESOURCE_BIT(METRIC_MEM), "meminfo"},
        [ROLE_LOAD] = {"node_load5", NODE_RESOURCE_BIT(METRIC_LOAD), "loadavg"},
        [ROLE_PSI_CPU] = {"node_pressure_cpu_waiting_seconds_total",
                          NODE_RESOURCE_BIT(METRIC_PSI_CPU), "pressure"},
        [ROLE_PSI_MEM] = {"node_pressure_memory_waiting_seconds_total",
                          NODE_RESOURCE_BIT(METRIC_PSI_MEM), "pressure"},
        [ROLE_PSI_IO] = {"node_pressure_io_waiting_seconds_total", NODE_RESOURCE_BIT(METRIC_PSI_IO),
                         "pressure"},
        [ROLE_DISK] = {"node_disk_io_time_seconds_total", NODE_RESOURCE_BIT(METRIC_DISK),
                       "diskstats"},
        NETWORK(NETWORK_RECEIVED, "receive_bytes_total", "netdev"),
        NETWORK(NETWORK_SENT, "transmit_bytes_total", "netdev"),
        NETWORK(NETWORK_SPEED, "speed_bytes", "netclass"),
        NETWORK(NETWORK_ID, "iface_id", "netclass"),
        NETWORK(NETWORK_LINK, "iface_link", "netclass"),
        NETWORK(NETWORK_PROTOCOL, "protocol_type", "netclass"),
        NETWORK(NETWORK_CARRIER, "carrier", "netclass"),
        FILESYSTEM(FILESYSTEM_SIZE, "size_bytes"),
        FILESYSTEM(FILESYSTEM_AVAILABLE, "avail_bytes"),
        FILESYSTEM(FILESYSTEM_READ_ONLY, "readonly"),
};

enum { MODE_NAME_MAX = 16, MODE_MAX = 32 };

/* One CPU while the page is read. */
struct cpu_sum {
        uint32_t seen; /* modes, a bit each */
        uint32_t fingerprint;
        double idle_s;
        double busy_s;
};

struct node_reading_scratch {
        uint32_t broken; /* roles with a value that cannot be used, a bit each */
        uint32_t seen;   /* roles, for the families that have a single series */
        double value[ROLE_COUNT];
        uint64_t ready_seen;

        uint32_t cpu_end;                   /* one more than the largest id met */
        struct cpu_sum cpus[NODE_MAX_CPUS]; /* by id; all zero between two pages */
        size_t mode_count;
        struct {
                char name[MODE_NAME_MAX];
                size_t len;
                uint32_t hash;
        } modes[MODE_MAX];

        size_t cpu_cap;
        size_t disk_cap;
        size_t link_cap;
        struct node_network_page network;
        struct node_filesystem_page filesystems;
        uint32_t own_broken; /* resources of the policy's own, a bit each */
        struct node_resource_page own[POLICY_MAX_METRICS];
};

/* The place of a family's name among @count, added behind them if need be. */
static size_t want_family(struct node_wants *wants, size_t *count, const char *name) {
        size_t family = 0;

        while (family < *count && strcmp(wants->names[family], name) != 0)
                family++;
        if (family == *count)
                wants->names[(*count)++] = name;
        return family;
}

void node_wants_init(struct node_wants *wants, const struct node_wants_options *options) {
        size_t count = 0;

        assert(options->ready_count <= NODE_MAX_READY && options->own_count <= POLICY_MAX_METRICS);
        *wants = (struct node_wants){
                .resources = options->resources &
                             (NODE_READING_RESOURCES | ((UINT32_C(1) << options->own_count) - 1)
                                                               << METRIC_RESOURCE_COUNT),
                .ready_count = options->ready_count,
                .own = options->own,
                .own_count = options->own_count,
        };
        if (options->network)
                wants->network = *options->network;
        for (size_t role = 0; role < ROLE_COUNT; role++) {
                if (!(roles[role].resources & wants->resources))
                        continue;
                wants->names[count] = roles[role].family;
                wants->roles[count++] = (uint8_t)role;
        }
        for (size_t i = 0; i < options->ready_count; i++) {
                size_t len = strnlen(options->ready[i], METRIC_NAME_MAX);
                memcpy(wants->ready[i], "node_", 5);
                memcpy(wants->ready[i] + 5, options->ready[i], len);
                size_t family = want_family(wants, &count, wants->ready[i]);
                if (wants->ready_of[family] == 0)
                        wants->ready_of[family] = (uint8_t)(i + 1);
        }
        for (size_t i = 0; i < options->own_count; i++) {
                const struct policy_metric *resource = &options->own[i];
                if (!(wants->resources >> METRIC_RESOURCE_COUNT >> i & 1))
                        continue;
                size_t family = want_family(wants, &count, resource->series);
                wants->used_by[family] |= (uint16_t)(1u << i);
                if (!resource->capacity_series[0])
                        continue;
                family = want_family(wants, &count, resource->capacity_series);
                wants->capacity_of[family] |= (uint16_t)(1u << i);
        }
        exposition_set_init(&wants->set, wants->names, count);
}

size_t node_wants_collectors(const struct node_wants *wants,
                             const char *ret_names[static NODE_MAX_COLLECTORS]) {
        size_t count = 0;

        if (wants->ready_count > 0 || wants->resources >> METRIC_RESOURCE_COUNT != 0)
                return 0;
        for (size_t i = 0; i < wants->set.count; i++) {
                const char *collector = roles[wants->roles[i]].collector;
                /* The table keeps a collector's families together. */
                if (count == 0 || strcmp(ret_names[count - 1], collector) != 0)
                        ret_names[count++] = collector;
        }
        return count;
}

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
        for (size_t i = 0; i < POLICY_MAX_METRICS; i++) {
                free(reading->scratch->own[i].used.items);
                free(reading->scratch->own[i].capacity.items);
        }
        free(reading->scratch);
        free(reading);
}

static void begin(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;

        scratch->broken = 0;
        scratch->seen = 0;
        scratch->ready_seen = 0;
        scratch->mode_count = 0;
        scratch->network.count = 0;
        scratch->filesystems.count = 0;
        scratch->own_broken = 0;
        for (size_t i = 0; i < POLICY_MAX_METRICS; i++)
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

static bool is_usable(double value) {
        return number_is_finite(value) && value >= 0;
}

static bool is_counter(double value_s) {
        return is_usable(value_s) && value_s <= COUNTER_MAX_S;
}

/* The number of a mode on this page, in the order of appearance; -1 when it cannot have one. */
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

static void take_cpu(struct node_reading *reading, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        const struct exposition_label *mode_label = exposition_label(sample, "mode");
        uint32_t id = 0;

        if (!mode_label || !cpu_id_parse(exposition_label(sample, "cpu"), &id)) {
                reading->unusable++;
                scratch->broken |= 1u << ROLE_CPU;
                return;
        }
        int mode = find_mode(scratch, mode_label);
        struct cpu_sum *cpu = &scratch->cpus[id];
        if (mode >= 0 && cpu->seen >> mode & 1) {
                reading->duplicates++;
                return;
        }
        if (mode < 0 || !is_counter(sample->value)) {
                reading->unusable++;
                scratch->broken |= 1u << ROLE_CPU;
                return;
        }
        if (id >= scratch->cpu_end)
                scratch->cpu_end = id + 1;
        cpu->seen |= 1u << mode;
        cpu->fingerprint += scratch->modes[mode].hash;
        if (exposition_label_is(mode_label, "idle"))
                cpu->idle_s = sample->value;
        else
                cpu->busy_s += sample->value;
}

static int cpu_idle_bit(struct node_reading_scratch *scratch) {
        for (size_t i = 0; i < scratch->mode_count; i++) {
                if (scratch->modes[i].len == 4 && memcmp(scratch->modes[i].name, "idle", 4) == 0)
                        return (int)i;
        }
        return -1;
}

/* The sums become the reading's array, ascending; the table is left zero for the next page. */
static void finish_cpus(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;
        int idle = cpu_idle_bit(scratch);

        for (uint32_t id = 0; id < scratch->cpu_end; id++) {
                struct cpu_sum *sum = &scratch->cpus[id];
                if (sum->seen == 0)
                        continue;
                if (idle < 0 || !(sum->seen >> idle & 1))
                        scratch->broken |= 1u << ROLE_CPU;
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

static void take_disk(struct node_reading *reading, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        const struct exposition_label *label = exposition_label(sample, "device");
        size_t before = reading->disk_count;
        struct node_device *disk = NULL;

        if (label && is_counter(sample->value))
                disk = id_list_get(&reading->disks, &reading->disk_count, &scratch->disk_cap,
                                   sizeof(*disk), NODE_MAX_DEVICES,
                                   hash_fnv1a(HASH_FNV1A_INIT, label->value, label->value_len));
        if (!disk) {
                reading->unusable++;
                scratch->broken |= 1u << ROLE_DISK;
        } else if (reading->disk_count == before) {
                reading->duplicates++;
        } else {
                disk->value = sample->value;
        }
}

/* What a part of ours made of a sample; true when its resource is lost by it. */
static bool note(struct node_reading *reading, enum node_take take) {
        reading->duplicates += take == NODE_REPEATED;
        reading->unusable += take == NODE_UNUSABLE;
        return take == NODE_UNUSABLE;
}

static void take_network(struct node_reading *reading, const struct node_wants *wants,
                         enum role role, const struct exposition_sample *sample) {
        enum node_network_field field = (enum node_network_field)(role - ROLE_NETWORK);

        if (note(reading,
                 node_network_take(&reading->scratch->network, &wants->network, field, sample)))
                reading->scratch->broken |= 1u << role;
}

static void take_filesystem(struct node_reading *reading, enum role role,
                            const struct exposition_sample *sample) {
        enum node_filesystem_field field = (enum node_filesystem_field)(role - ROLE_FILESYSTEM);

        if (note(reading, node_filesystem_take(&reading->scratch->filesystems, field, sample)))
                reading->scratch->broken |= 1u << role;
}

/* One family may be several resources' series or capacity. */
static void take_own(struct node_reading *reading, const struct node_wants *wants,
                     const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        uint32_t used_by = wants->used_by[sample->family];
        uint32_t capacity_of = wants->capacity_of[sample->family];

        for (unsigned i = 0; (used_by | capacity_of) >> i != 0; i++) {
                struct node_resource_page *page = &scratch->own[i];
                if ((used_by >> i & 1 &&
                     note(reading, node_resource_take(&page->used, &wants->own[i], sample))) ||
                    (capacity_of >> i & 1 &&
                     note(reading, node_resource_take(&page->capacity, &wants->own[i], sample))))
                        scratch->own_broken |= 1u << i;
        }
}

/* A family with a single series. */
static void take_single(struct node_reading *reading, enum role role, double value) {
        struct node_reading_scratch *scratch = reading->scratch;

        if (scratch->seen >> role & 1) {
                reading->duplicates++;
                return;
        }
        scratch->seen |= 1u << role;
        bool is_time = role >= ROLE_PSI_CPU && role <= ROLE_PSI_IO;
        if (!(is_time ? is_counter(value) : is_usable(value))) {
                reading->unusable++;
                scratch->broken |= 1u << role;
                return;
        }
        scratch->value[role] = value;
}

static void take_ready(struct node_reading *reading, size_t index, double value) {
        uint64_t bit = UINT64_C(1) << index;

        if (reading->scratch->ready_seen & bit) {
                reading->duplicates++;
                return;
        }
        reading->scratch->ready_seen |= bit;
        if (!is_usable(value)) {
                reading->unusable++;
                return;
        }
        reading->ready_usable |= bit;
        reading->ready[index] = value;
}

static const char whole_page_wanted[] = "the page may be cut";
static const char broken_value[] = "a value on the page makes no sense";
static const char no_series[] = "the page has no such series";

/* A resource that is made of one series or two. */
static const char *why_not_single(const struct node_reading *reading, uint32_t roles_needed) {
        const struct node_reading_scratch *scratch = reading->scratch;

        if (scratch->broken & roles_needed)
                return broken_value;
        return (scratch->seen & roles_needed) == roles_needed ? NULL : no_series;
}

/* A resource that is made of a set: a part of it would pass for the whole. */
static const char *why_not_set(const struct node_reading *reading, uint32_t roles_needed,
                               bool is_complete) {
        if (!is_complete)
                return whole_page_wanted;
        return reading->scratch->broken & roles_needed ? broken_value : NULL;
}

/* A resource's place in the reading: usable, or why it is not. */
static bool settle(struct node_reading *reading, const struct node_wants *wants, unsigned resource,
                   const char *why) {
        if (!(wants->resources >> resource & 1))
                return false;
        reading->why[resource] = why;
        if (!why)
                reading->usable |= NODE_RESOURCE_BIT(resource);
        return !why;
}

static void finish_load_and_memory(struct node_reading *reading, const struct node_wants *wants,
                                   const char *why_no_cpus) {
        static const uint32_t memory = 1u << ROLE_MEM_AVAILABLE | 1u << ROLE_MEM_TOTAL;
        const double *value = reading->scratch->value;

        const char *why = why_not_single(reading, 1u << ROLE_LOAD);
        if (settle(reading, wants, METRIC_LOAD, why ? why : why_no_cpus))
                reading->load_ratio = fmin(value[ROLE_LOAD] / (double)reading->cpu_count, 1);
        why = why_not_single(reading, memory);
        if (!why &&
            (value[ROLE_MEM_TOTAL] <= 0 || value[ROLE_MEM_AVAILABLE] > value[ROLE_MEM_TOTAL]))
                why = broken_value;
        if (settle(reading, wants, METRIC_MEM, why))
                reading->mem_ratio = 1 - value[ROLE_MEM_AVAILABLE] / value[ROLE_MEM_TOTAL];
}

static void finish_network(struct node_reading *reading, const struct node_wants *wants,
                           bool is_complete) {
        static const uint32_t mask = ((1u << NETWORK_FIELD_COUNT) - 1) << ROLE_NETWORK;
        struct node_reading_scratch *scratch = reading->scratch;

        if (scratch->link_cap < scratch->network.count) {
                scratch->link_cap = scratch->network.cap;
                reading->links = xreallocarray(reading->links, scratch->link_cap,
                                               sizeof(*reading->links));
        }
        const char *why = why_not_set(reading, mask, is_complete);
        if (!why)
                why = node_network_finish(&scratch->network, &wants->network, reading->links,
                                          &reading->link_count);
        settle(reading, wants, METRIC_NET, why);
        settle(reading, wants, METRIC_NET_RX, why);
        settle(reading, wants, METRIC_NET_TX, why);
}

static void finish_own(struct node_reading *reading, const struct node_wants *wants, unsigned i,
                       bool is_complete) {
        const struct policy_metric *resource = &wants->own[i];
        const struct node_resource_page *page = &reading->scratch->own[i];
        struct node_own *own = &reading->own[i];

        *own = (struct node_own){.series = page->used.items, .series_count = page->used.count};
        const char *why = is_complete ? NULL : whole_page_wanted;
        if (!why && reading->scratch->own_broken >> i & 1)
                why = broken_value;
        if (!why && page->used.count == 0)
                why = "no series of its name and labels on the page";
        if (!why)
                why = node_resource_capacity(page, resource, &own->capacity);
        if (!why && resource->kind == POLICY_GAUGE &&
            !node_resource_ratio(
                    node_resource_reduce(resource->reduce, own->series, own->series_count),
                    own->capacity, &own->ratio))
                why = "its value is far above its capacity";
        settle(reading, wants, METRIC_RESOURCE_COUNT + i, why);
}

static void finish(struct node_reading *reading, const struct node_wants *wants, bool is_complete) {
        static const uint32_t filesystem_mask = ((1u << FILESYSTEM_FIELD_COUNT) - 1)
                                                << ROLE_FILESYSTEM;
        const struct node_reading_scratch *scratch = reading->scratch;

        const char *why = why_not_set(reading, 1u << ROLE_CPU, is_complete);
        if (!why && reading->cpu_count == 0)
                why = no_series;
        settle(reading, wants, METRIC_CPU, why);
        finish_load_and_memory(reading, wants, why);
        for (unsigned i = 0; i < 3; i++) {
                if (settle(reading, wants, METRIC_PSI_CPU + i,
                           why_not_single(reading, 1u << (ROLE_PSI_CPU + i))))
                        reading->psi_s[i] = scratch->value[ROLE_PSI_CPU + i];
        }
        why = why_not_set(reading, 1u << ROLE_DISK, is_complete);
        settle(reading, wants, METRIC_DISK, why || reading->disk_count > 0 ? why : no_series);
        if (wants->resources & NETWORK_RESOURCES)
                finish_network(reading, wants, is_complete);
        why = why_not_set(reading, filesystem_mask, is_complete);
        if (!why)
                why = node_filesystem_finish(&scratch->filesystems, &reading->fs_ratio);
        settle(reading, wants, METRIC_FS, why);
        for (unsigned i = 0; i < wants->own_count; i++)
                if (wants->resources >> METRIC_RESOURCE_COUNT >> i & 1)
                        finish_own(reading, wants, i, is_complete);
}

void node_reading_parse(struct node_reading *reading, const struct node_wants *wants,
                        const char *page, size_t page_bytes, bool is_complete) {
        struct exposition skim;
        struct exposition_sample sample;

        begin(reading);
        exposition_begin(&skim, &wants->set, page, page_bytes, is_complete);
        while (exposition_next(&skim, &sample)) {
                enum role role = wants->roles[sample.family];
                switch (role) {
                case ROLE_CPU:
                        take_cpu(reading, &sample);
                        break;
                case ROLE_DISK:
                        take_disk(reading, &sample);
                        break;
                case ROLE_MEM_AVAILABLE:
                case ROLE_MEM_TOTAL:
                case ROLE_LOAD:
                case ROLE_PSI_CPU:
                case ROLE_PSI_MEM:
                case ROLE_PSI_IO:
                        take_single(reading, role, sample.value);
                        break;
                case ROLE_NONE:
                        break;
                case ROLE_NETWORK:
                case ROLE_FILESYSTEM:
                case ROLE_COUNT:
                default:
                        if (role >= ROLE_FILESYSTEM)
                                take_filesystem(reading, role, &sample);
                        else
                                take_network(reading, wants, role, &sample);
                        break;
                }
                if (wants->used_by[sample.family] | wants->capacity_of[sample.family])
                        take_own(reading, wants, &sample);
                if (wants->ready_of[sample.family] > 0)
                        take_ready(reading, wants->ready_of[sample.family] - 1u, sample.value);
        }
        for (size_t i = 0; i < wants->set.count; i++) {
                if (!(skim.malformed_families[i / 64] >> i % 64 & 1))
                        continue;
                reading->scratch->broken |= 1u << wants->roles[i];
                reading->scratch->own_broken |= wants->used_by[i] | wants->capacity_of[i];
        }
        reading->samples = skim.samples;
        reading->malformed = skim.malformed;
        finish_cpus(reading);
        finish(reading, wants, is_complete);
}
