#include "policy/estimate/inflight.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

double inflight_overlap(const struct inflight_pod *pod, const struct inflight_reading *reading) {
        int64_t begins_unix_ms = reading->ends_unix_ms - reading->window_ms;
        int64_t from = pod->bound_unix_ms > begins_unix_ms ? pod->bound_unix_ms : begins_unix_ms;
        int64_t to = pod->gone_unix_ms < reading->ends_unix_ms ? pod->gone_unix_ms
                                                               : reading->ends_unix_ms;

        return to > from ? (double)(to - from) / (double)reading->window_ms : 0;
}

enum { UNREAD_MS = 900000 }; /* the window of a node that has not been read yet, if not longer */

static bool pod_is_live(const struct inflight_pod *pod) {
        return pod->gone_unix_ms == INFLIGHT_LIVE;
}

/* How much of its load a reading lacks (or has too much). */
static double missing(const struct inflight_pod *pod, const struct inflight_reading *reading) {
        double overlap = reading->window_ms > 0 ? inflight_overlap(pod, reading) : 0;

        return pod_is_live(pod) ? 1 - overlap : -overlap;
}

static void add_k(struct inflight *node, const struct inflight_pod *pod,
                  const struct load_factor *factor, double sign) {
        struct pod_load load = workload_estimate(pod->workload, &pod->request, factor);

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                node->k.of[r] += sign * load.of[r] * missing(pod, &node->readings[r]);
}

static void add_request(struct pod_load *sum, const struct inflight_pod *pod, double share) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sum->of[r] = fmax(0, sum->of[r] + share * pod->request.of[r]);
}

/* Does every window hold the whole pod, or nothing of it any more? Before the first reading, no. */
static bool is_settled(const struct inflight *node, const struct inflight_pod *pod) {
        int64_t changed = pod_is_live(pod) ? pod->bound_unix_ms : pod->gone_unix_ms;
        bool is_read = false;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct inflight_reading *reading = &node->readings[r];
                if (reading->window_ms == 0)
                        continue;
                is_read = true;
                if (changed > reading->ends_unix_ms - reading->window_ms)
                        return false;
        }
        return is_read;
}

/* Did the pod come and go since the last readings, and longer ago than a window? Then no reading
 * will hold it. So a node whose exporter is away keeps no more pods than those of a window. */
static bool is_past(const struct inflight *node, const struct inflight_pod *pod,
                    int64_t now_unix_ms) {
        int64_t window_ms = 0;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                const struct inflight_reading *reading = &node->readings[r];
                if (reading->window_ms > 0 && pod->bound_unix_ms < reading->ends_unix_ms)
                        return false;
                window_ms = reading->window_ms > window_ms ? reading->window_ms : window_ms;
        }
        return !pod_is_live(pod) &&
               pod->gone_unix_ms <= now_unix_ms - (window_ms > 0 ? window_ms : UNREAD_MS);
}

/* The group of a workload; a new one where the node has none yet. Pods without an owner share a
 * group, which teaches nothing. */
static struct inflight_group *group_of(struct inflight *node, struct workload *workload) {
        for (size_t i = 0; i < node->group_count; i++)
                if (node->groups[i].workload == workload)
                        return &node->groups[i];
        mem_grow(&node->groups, node->group_count, &node->group_cap);
        struct inflight_group *group = &node->groups[node->group_count++];
        *group = (struct inflight_group){.workload = workload_hold(workload)};
        return group;
}

static struct inflight_pod *find_recent(const struct inflight *node, uint64_t id) {
        for (size_t i = node->recent_count; i-- > 0;)
                if (node->recent[i].id == id)
                        return &node->recent[i];
        return NULL;
}

/* No pod is left, and the next CPU reading can teach nothing about the workload. */
static bool is_empty(const struct inflight_group *group) {
        return group->settled == 0 && group->recent == 0 && !(group->pods > 0);
}

static void drop_empty_groups(struct inflight *node, struct workload_set *workloads) {
        size_t kept = 0;

        for (size_t i = 0; i < node->group_count; i++)
                if (is_empty(&node->groups[i]))
                        workload_unref(workloads, node->groups[i].workload);
                else
                        node->groups[kept++] = node->groups[i];
        node->group_count = kept;
}

static void drop_past(struct inflight *node, struct workload_set *workloads, int64_t now_unix_ms) {
        size_t kept = 0;

        for (size_t i = 0; i < node->recent_count; i++)
                if (is_past(node, &node->recent[i], now_unix_ms))
                        group_of(node, node->recent[i].workload)->recent--;
                else
                        node->recent[kept++] = node->recent[i];
        node->recent_count = kept;
        drop_empty_groups(node, workloads);
}

/* For a pod that came or went at that time. Called before its group is looked up, since groups may
 * be dropped. */
static bool make_room_for_recent(struct inflight *node, struct workload_set *workloads,
                                 int64_t at_unix_ms) {
        if (node->recent_count == node->recent_cap)
                drop_past(node, workloads, at_unix_ms);
        return node->recent_count < INFLIGHT_MAX_RECENT;
}

static void add_recent(struct inflight *node, struct inflight_group *group,
                       const struct inflight_pod *pod, const struct load_factor *factor) {
        mem_grow(&node->recent, node->recent_count, &node->recent_cap);
        node->recent[node->recent_count++] = *pod;
        group->recent++;
        add_k(node, pod, factor, 1);
}

void inflight_done(struct inflight *node, struct workload_set *workloads) {
        for (size_t i = 0; i < node->group_count; i++)
                workload_unref(workloads, node->groups[i].workload);
        free(node->groups);
        free(node->recent);
        *node = (struct inflight){0};
}

/* Counts what the present readings hold of a pod that was not known when they came, so that the
 * next reading does not show it as new. */
static void add_held(struct inflight *node, struct inflight_group *group,
                     const struct inflight_pod *pod) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                if (node->readings[r].window_ms == 0)
                        continue;
                double overlap = inflight_overlap(pod, &node->readings[r]);
                node->held.of[r] += overlap * pod->request.of[r];
                if (r == ESTIMATE_CPU)
                        group->pods += overlap;
        }
}

void inflight_bind(struct inflight *node, struct workload_set *workloads,
                   const struct inflight_pod *pod, const struct load_factor *factor) {
        assert(pod_is_live(pod));
        if (find_recent(node, pod->id))
                return;
        bool is_recent = !is_settled(node, pod) &&
                         make_room_for_recent(node, workloads, pod->bound_unix_ms);
        struct inflight_group *group = group_of(node, pod->workload);
        add_request(&node->requested, pod, 1);
        add_held(node, group, pod);
        if (is_recent)
                add_recent(node, group, pod, factor);
        else
                group->settled++;
}

void inflight_end(struct inflight *node, struct workload_set *workloads,
                  const struct inflight_pod *pod, const struct load_factor *factor) {
        struct inflight_pod *recent = find_recent(node, pod->id);

        assert(!pod_is_live(pod));
        if (recent && !pod_is_live(recent))
                return;
        add_request(&node->requested, pod, -1);
        bool becomes_recent = !recent && !is_settled(node, pod) &&
                              make_room_for_recent(node, workloads, pod->gone_unix_ms);
        struct inflight_group *group = group_of(node, pod->workload);
        if (recent) {
                add_k(node, recent, factor, -1);
                recent->gone_unix_ms = pod->gone_unix_ms;
                add_k(node, recent, factor, 1);
                if (is_settled(node, recent)) {
                        *recent = node->recent[--node->recent_count];
                        group->recent--;
                }
        } else {
                group->settled -= group->settled > 0;
                if (becomes_recent)
                        add_recent(node, group, pod, factor);
        }
        if (is_empty(group))
                drop_empty_groups(node, workloads);
}

/* From here on, live pods that all windows hold whole are only counted. Pods that are gone, and
 * that no window holds, are forgotten. */
static void settle(struct inflight *node) {
        size_t kept = 0;

        for (size_t i = 0; i < node->recent_count; i++) {
                const struct inflight_pod *pod = &node->recent[i];
                if (!is_settled(node, pod)) {
                        node->recent[kept++] = *pod;
                        continue;
                }
                struct inflight_group *group = group_of(node, pod->workload);
                group->recent--;
                group->settled += pod_is_live(pod);
        }
        node->recent_count = kept;
}

void inflight_recount(struct inflight *node, const struct load_factor *factor) {
        node->k = (struct pod_load){0};
        node->held = node->requested;
        for (size_t i = 0; i < node->recent_count; i++) {
                const struct inflight_pod *pod = &node->recent[i];
                add_k(node, pod, factor, 1);
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        node->held.of[r] -= pod->request.of[r] * missing(pod, &node->readings[r]);
        }
}

static void learn(struct inflight *node, bool has_before) {
        const struct inflight_reading *reading = &node->readings[ESTIMATE_CPU];
        double capacity = node->capacity.of[ESTIMATE_CPU], cores = reading->ratio * capacity;
        struct workload_change changes[INFLIGHT_MAX_CHANGES];
        size_t count = 0;

        for (size_t i = 0; i < node->group_count; i++) {
                struct inflight_group *group = &node->groups[i];
                group->pods_before = group->pods;
                group->pods = group->settled;
        }
        for (size_t i = 0; i < node->recent_count; i++)
                group_of(node, node->recent[i].workload)->pods += inflight_overlap(&node->recent[i],
                                                                                   reading);
        for (size_t i = 0; i < node->group_count && count < ARRAY_LEN(changes); i++) {
                const struct inflight_group *group = &node->groups[i];
                if (group->workload && group->pods != group->pods_before)
                        changes[count++] = (struct workload_change){
                                group->workload, group->pods - group->pods_before};
        }
        if (has_before && capacity > 0)
                workload_learn(changes, count, cores - node->cores_before, capacity);
        node->cores_before = cores;
}

void inflight_read(struct inflight *node, struct workload_set *workloads, int resource,
                   const struct inflight_reading *reading, const struct load_factor *factor) {
        bool has_before = node->readings[resource].window_ms == reading->window_ms;

        assert(reading->window_ms > 0);
        node->readings[resource] = *reading;
        settle(node);
        if (resource == ESTIMATE_CPU)
                learn(node, has_before);
        drop_empty_groups(node, workloads);
        inflight_recount(node, factor);
}

double inflight_expected_ratio(const struct inflight *node, int resource,
                               const struct load_factor *factor) {
        double capacity = node->capacity.of[resource];

        return capacity > 0 ? factor->ratio[resource] * node->requested.of[resource] / capacity : 0;
}

double inflight_usage_ratio(const struct inflight *node, int resource,
                            const struct load_factor *factor) {
        double capacity = node->capacity.of[resource];

        if (node->readings[resource].window_ms == 0)
                return inflight_expected_ratio(node, resource, factor);
        double k_ratio = capacity > 0 ? node->k.of[resource] / capacity : 0;
        return fmax(0, node->readings[resource].ratio + k_ratio);
}
