#include "published.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "chance.h"
#include "codec/json.h"
#include "controller/track/plan_due.h"
#include "controller/window/window.h"
#include "policy/hot_value.h"

enum { SCRAPE_S = 15, PATCH_MAX_BYTES = 1 << 16 };

struct published_node {
        const char *name;
        struct window_store *windows;
        struct plan_record *record;
        double used_s; /* since the last scrape: seconds of the whole node's CPUs */
        int64_t scraped_s;
        int64_t scrape_phase_s, taken_ms;
        struct binding_ring bound;
        json_t *annotations; /* NULL: never written */
};

struct published {
        const struct world *world;
        const struct policy *policy;
        bool is_ours;
        struct window_plan *windows;
        struct plan plan;
        struct buf patch; /* the latest */
        struct published_node *nodes;
        uint64_t patches;
};

/* A controller that knows nothing of the nodes but their names. */
static void start_controller(struct published *published, const struct policy *policy) {
        const struct world *world = published->world;
        struct metric_query queries[POLICY_MAX_METRICS];
        size_t count = 0;

        for (size_t i = 0; i < policy->metric_count; i++)
                if (policy->metrics[i].is_query)
                        queries[count++] = policy->metrics[i].query;
        published->policy = policy;
        published->windows = window_plan_new(queries, count, SCRAPE_S * MS_PER_S);
        plan_init(&published->plan, policy);
        for (size_t n = 0; n < world->node_count; n++) {
                struct published_node *node = &published->nodes[n];
                node->windows = window_store_new(published->windows);
                node->record = plan_record_new(&published->plan);
                node->taken_ms = 0;
                node->used_s = 0;
                node->scraped_s = world->now_s;
        }
}

static void stop_controller(struct published *published) {
        for (size_t n = 0; n < published->world->node_count; n++) {
                window_store_free(published->nodes[n].windows);
                free(published->nodes[n].record);
        }
        window_plan_free(published->windows);
}

struct published *published_new(const struct world *world, const struct policy *policy,
                                bool is_ours) {
        struct published *published = xcalloc(1, sizeof(*published));

        published->world = world;
        published->patch = BUF_INIT(PATCH_MAX_BYTES);
        published->is_ours = is_ours;
        published->nodes = xcalloc(world->node_count, sizeof(*published->nodes));
        for (size_t n = 0; n < world->node_count; n++) {
                struct published_node *node = &published->nodes[n];
                node->name = world->nodes[n].name;
                node->scrape_phase_s = (int64_t)(chance_uniform(world->seed, 4000000 + n) *
                                                 SCRAPE_S);
        }
        start_controller(published, policy);
        return published;
}

void published_restart(struct published *published, const struct policy *policy) {
        stop_controller(published);
        start_controller(published, policy);
}

void published_free(struct published *published) {
        if (!published)
                return;
        stop_controller(published);
        for (size_t n = 0; n < published->world->node_count; n++) {
                binding_ring_done(&published->nodes[n].bound);
                json_decref(published->nodes[n].annotations);
        }
        buf_done(&published->patch);
        free(published->nodes);
        free(published);
}

static void scrape(const struct published *published, struct published_node *node, size_t n) {
        int64_t now_s = published->world->now_s;
        struct window_step step = {
                .at_mono_ms = now_s * MS_PER_S,
                .counters = 1u << METRIC_CPU,
                .gauges = 1u << METRIC_MEM,
        };

        step.num[METRIC_CPU] = node->used_s;
        step.den[METRIC_CPU] = (double)(now_s - node->scraped_s);
        step.num[METRIC_MEM] = world_memory_ratio(published->world, n);
        (void)window_store_add(node->windows, &step);
        node->used_s = 0;
        node->scraped_s = now_s;
}

/* As the controller reads its windows for the plan. Maxima take most of the time. */
static struct plan_values read_values(const struct published *published,
                                      const struct published_node *node, bool is_means_alone) {
        int64_t now_ms = published->world->now_s * MS_PER_S;
        struct plan_values values = {
                .has_hot = published->policy->hot_value_count > 0,
                .hot = hot_value(published->policy, &node->bound, now_ms),
        };

        for (size_t i = 0; i < published->policy->metric_count; i++) {
                const struct policy_metric *sync = &published->policy->metrics[i];
                if (!sync->is_query || (is_means_alone && sync->query.statistic != METRIC_AVG))
                        continue;
                struct window_reading reading = window_read(node->windows, &sync->query, now_ms);
                if (reading.status != WINDOW_KNOWN)
                        continue;
                values.usable |= UINT64_C(1) << i;
                values.ratio[i] = reading.ratio;
                values.age_ms[i] = reading.age_ms;
                if (reading.is_provisional)
                        values.provisional |= UINT64_C(1) << i;
                if (sync->query.statistic == METRIC_AVG && reading.fullness < 0.9) {
                        int64_t covered = (int64_t)(reading.fullness *
                                                    (double)sync->query.window_ms);
                        if (covered > values.covered_ms)
                                values.covered_ms = covered;
                }
        }
        return values;
}

/* As crane's controller: each value that would be older than its period at the next turn, whether
 * it has moved or not. */
static struct plan_due due_by_crane(const struct published *published,
                                    const struct published_node *node,
                                    const struct plan_values *values, int64_t now_ms) {
        const struct plan *plan = &published->plan;
        struct plan_due due = plan_due_all(plan, values);

        due.peaks = 0;
        for (size_t i = 0; i < node->record->count; i++) {
                int64_t at_ms = node->record->metrics[i].at_unix_ms;
                int64_t limit_ms = plan->policy->metrics[i].period_ms + plan->sync_ms / 16;
                if (at_ms != PLAN_NEVER && now_ms - at_ms + plan->sync_ms <= limit_ms)
                        due.metrics &= ~(UINT64_C(1) << i);
        }
        return due;
}

static void write_annotations(struct published *published, struct published_node *node,
                              const struct plan_due *due, const struct plan_values *values) {
        json_auto_t *written = NULL;

        buf_clear(&published->patch);
        buf_putc(&published->patch, '{');
        plan_annotations(&published->plan, due, values, &(struct plan_style){.prefix = ""},
                         published->world->now_s * MS_PER_S, &published->patch);
        buf_putc(&published->patch, '}');
        int r = json_parse(published->patch.data, published->patch.len, &written, NULL);
        assert(r == 0);
        (void)r;
        if (!node->annotations)
                node->annotations = json_object();
        (void)json_object_update(node->annotations, written);
}

static void patch(struct published *published, struct published_node *node,
                  const struct plan_due *due, const struct plan_values *values) {
        write_annotations(published, node, due, values);
        plan_confirm(node->record, due, values, published->world->now_s * MS_PER_S);
        published->patches++;
}

static struct plan_due find_due(const struct published *published,
                                const struct published_node *node, const struct plan_values *values,
                                int64_t turn_ms) {
        int64_t now_ms = published->world->now_s * MS_PER_S;

        return published->is_ours
                       ? plan_due(&published->plan, node->record, values, turn_ms, now_ms)
                       : due_by_crane(published, node, values, now_ms);
}

/* Return: whether the node was patched. Between turns, means alone decide that. */
static bool take_turn(struct published *published, struct published_node *node, bool is_scraped) {
        int64_t now_ms = published->world->now_s * MS_PER_S;
        int64_t turn_ms = plan_turn_unix_ms(&published->plan, node->name, node->taken_ms, now_ms);
        bool is_turn = turn_ms != PLAN_NEVER;

        if (published->is_ours ? !is_scraped : !is_turn)
                return false;
        struct plan_values values = read_values(published, node, !is_turn);
        struct plan_due due = find_due(published, node, &values, turn_ms);
        if (!is_turn && !plan_due_is_empty(&due)) {
                values = read_values(published, node, false);
                due = find_due(published, node, &values, turn_ms);
        }
        node->taken_ms = now_ms;
        if (plan_due_is_empty(&due))
                return false;
        patch(published, node, &due, &values);
        return true;
}

void published_step(struct published *published, published_fn *on_written, void *userdata) {
        const struct world *world = published->world;
        bool is_away = scenario_is_away(world->scenario, &world->scenario->controller_away,
                                        world->now_s);

        for (size_t n = 0; n < world->node_count; n++) {
                struct published_node *node = &published->nodes[n];
                bool is_scraped = world->now_s % SCRAPE_S == node->scrape_phase_s;
                node->used_s += world_usage_ratio(world, n);
                if (is_away || !world_has_exporter(world, n))
                        continue;
                if (is_scraped)
                        scrape(published, node, n);
                if (take_turn(published, node, is_scraped))
                        on_written(userdata, n);
        }
}

void published_bound(struct published *published, const struct pod *pod) {
        binding_ring_add(&published->nodes[pod->node].bound, pod->bound_s * MS_PER_S,
                         hot_value_keep_ms(published->policy));
}

const json_t *published_annotations(const struct published *published, size_t node) {
        return published->nodes[node].annotations;
}

uint64_t published_patches(const struct published *published) {
        return published->patches;
}
