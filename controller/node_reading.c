#include "controller/node_reading.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

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
        ROLE_COUNT,
};

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
};

void node_wants_init(struct node_wants *wants, uint32_t resources, const char *const *ready,
                     size_t ready_count) {
        size_t count = 0;

        assert(ready_count <= NODE_MAX_READY);
        *wants = (struct node_wants){
                .resources = resources & NODE_READING_RESOURCES,
                .ready_count = ready_count,
        };
        for (size_t role = 0; role < ROLE_COUNT; role++) {
                if (!(roles[role].resources & wants->resources))
                        continue;
                wants->names[count] = roles[role].family;
                wants->roles[count++] = (uint8_t)role;
        }
        for (size_t i = 0; i < ready_count; i++) {
                size_t len = strnlen(ready[i], METRIC_NAME_MAX), family = 0;
                memcpy(wants->ready[i], "node_", 5);
                memcpy(wants->ready[i] + 5, ready[i], len);
                while (family < count && strcmp(wants->names[family], wants->ready[i]) != 0)
                        family++;
                if (family == count)
                        wants->names[count++] = wants->ready[i];
                if (wants->ready_of[family] == 0)
                        wants->ready_of[family] = (uint8_t)(i + 1);
        }
        exposition_set_init(&wants->set, wants->names, count);
}

size_t node_wants_collectors(const struct node_wants *wants,
                             const char *ret_names[static NODE_MAX_COLLECTORS]) {
        size_t count = 0;

        if (wants->ready_count > 0)
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
        free(reading->scratch);
        free(reading);
}

static void begin(struct node_reading *reading) {
        struct node_reading_scratch *scratch = reading->scratch;

        scratch->broken = 0;
        scratch->seen = 0;
        scratch->ready_seen = 0;
        scratch->mode_count = 0;
        *reading = (struct node_reading){
                .cpus = reading->cpus,
                .disks = reading->disks,
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

/* FNV-1a: names are short, and a peer that finds collisions only blurs its own node. */
static uint64_t hash_slice(const char *text, size_t len) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < len; i++)
                hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        return hash;
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
        scratch->modes[i].hash = (uint32_t)(hash_slice(label->value, len) >> 16);
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

/* The place of the first device whose id is not below @id. */
static size_t find_device(const struct node_device *devices, size_t count, uint64_t id) {
        size_t low = 0;

        while (low < count) {
                size_t middle = low + (count - low) / 2;
                if (devices[middle].id < id)
                        low = middle + 1;
                else
                        count = middle;
        }
        return low;
}

static void take_disk(struct node_reading *reading, const struct exposition_sample *sample) {
        struct node_reading_scratch *scratch = reading->scratch;
        const struct exposition_label *device = exposition_label(sample, "device");

        if (!device || !is_counter(sample->value)) {
                reading->unusable++;
                scratch->broken |= 1u << ROLE_DISK;
                return;
        }
        uint64_t id = hash_slice(device->value, device->value_len);
        size_t place = find_device(reading->disks, reading->disk_count, id);
        if (place < reading->disk_count && reading->disks[place].id == id) {
                reading->duplicates++;
                return;
        }
        if (reading->disk_count == NODE_MAX_DEVICES) {
                reading->unusable++;
                scratch->broken |= 1u << ROLE_DISK;
                return;
        }
        mem_grow(&reading->disks, reading->disk_count, &scratch->disk_cap);
        memmove(&reading->disks[place + 1], &reading->disks[place],
                (reading->disk_count - place) * sizeof(*reading->disks));
        reading->disks[place] = (struct node_device){.id = id, .value = sample->value};
        reading->disk_count++;
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

/* All of these roles were there, with usable values. */
static bool has_roles(const struct node_reading *reading, uint32_t mask) {
        const struct node_reading_scratch *scratch = reading->scratch;

        return (scratch->seen & mask) == mask && !(scratch->broken & mask);
}

static void finish(struct node_reading *reading, const struct node_wants *wants, bool is_complete) {
        const struct node_reading_scratch *scratch = reading->scratch;
        const double *value = scratch->value;
        uint32_t usable = 0;

        if (is_complete && reading->cpu_count > 0 && !(scratch->broken & 1u << ROLE_CPU)) {
                usable |= NODE_RESOURCE_BIT(METRIC_CPU);
                if (has_roles(reading, 1u << ROLE_LOAD)) {
                        usable |= NODE_RESOURCE_BIT(METRIC_LOAD);
                        reading->load_ratio = fmin(value[ROLE_LOAD] / (double)reading->cpu_count,
                                                   1);
                }
        }
        if (has_roles(reading, 1u << ROLE_MEM_AVAILABLE | 1u << ROLE_MEM_TOTAL) &&
            value[ROLE_MEM_TOTAL] > 0 && value[ROLE_MEM_AVAILABLE] <= value[ROLE_MEM_TOTAL]) {
                usable |= NODE_RESOURCE_BIT(METRIC_MEM);
                reading->mem_ratio = 1 - value[ROLE_MEM_AVAILABLE] / value[ROLE_MEM_TOTAL];
        }
        for (unsigned i = 0; i < 3; i++) {
                if (!has_roles(reading, 1u << (ROLE_PSI_CPU + i)))
                        continue;
                usable |= NODE_RESOURCE_BIT(METRIC_PSI_CPU + i);
                reading->psi_s[i] = value[ROLE_PSI_CPU + i];
        }
        if (is_complete && reading->disk_count > 0 && !(scratch->broken & 1u << ROLE_DISK))
                usable |= NODE_RESOURCE_BIT(METRIC_DISK);
        reading->usable = usable & wants->resources;
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
                case ROLE_COUNT:
                        break;
                }
                if (wants->ready_of[sample.family] > 0)
                        take_ready(reading, wants->ready_of[sample.family] - 1u, sample.value);
        }
        for (size_t i = 0; i < wants->set.count; i++) {
                if (skim.malformed_families[i / 64] >> i % 64 & 1)
                        reading->scratch->broken |= 1u << wants->roles[i];
        }
        reading->samples = skim.samples;
        reading->malformed = skim.malformed;
        finish_cpus(reading);
        finish(reading, wants, is_complete);
}
