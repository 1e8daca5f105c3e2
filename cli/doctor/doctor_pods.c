#include "cli/doctor/doctor_pods.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor/doctor_facts.h"
#include "kube/kube_path.h"
#include "policy/pods/pod_facts.h"

enum {
        LATELY_MS = 5 * MS_PER_MIN,
        CLOCK_SLACK_MS = MS_PER_MIN, /* between the API server's clock and an extender's */
};

void doctor_pods_done(struct doctor_pods *pods) {
        free(pods->mixed.example);
        free(pods->bound.example);
        pods->mixed = pods->bound = (struct doctor_set){0};
}

static void add_pod(struct doctor_set *set, const struct pod_facts *pod) {
        if (set->count++ == 0)
                set->example = xasprintf("%.*s/%.*s", (int)pod->namespace.len, pod->namespace.text,
                                         (int)pod->name.len, pod->name.text);
}

static void forget_pods(void *userdata) {
        struct doctor_facts *facts = userdata;

        doctor_pods_done(&facts->pods);
}

/* By a scheduler that asks our extenders: those of a second scheduler, or behind a Service. */
static bool is_placed(const struct doctor_facts *facts, const struct pod_facts *pod) {
        bool is_beside = doctor_has(facts, DOCTOR_SCHEDULER) && !doctor_has(facts, DOCTOR_EXTENDER);

        return is_beside ? skim_is(&pod->scheduler, "plimsoll-scheduler")
                         : pod_facts_is_placed(pod);
}

static void examine_pod(void *userdata, const char *text, size_t len) {
        struct doctor_facts *facts = userdata;
        struct pod_facts pod;

        if (!pod_facts_skim(&pod, text, len))
                return;
        if (!pod.is_finished && pod.idle_cores > 0 && pod.request.of[ESTIMATE_CPU] > 0)
                add_pod(&facts->pods.mixed, &pod);
        if (is_placed(facts, &pod) && pod.node.len > 0 &&
            pod.bound_unix_ms > facts->pods.since_unix_ms)
                add_pod(&facts->pods.bound, &pod);
}

/* Only bindings after the start of the youngest extender count: earlier calls may have been for the
 * one that it replaced. */
static int64_t since_unix_ms(const struct doctor_facts *facts) {
        const int64_t since[] = {facts->now_unix_ms - MS_PER_HOUR - CLOCK_SLACK_MS,
                                 doctor_last_call_unix_ms(facts), doctor_last_start_unix_ms(facts)};
        int64_t last = since[0];

        for (size_t i = 1; i < ARRAY_LEN(since); i++)
                last = since[i] > last ? since[i] : last;
        return last + CLOCK_SLACK_MS;
}

void doctor_pods_ask(struct cluster *cluster, struct doctor_facts *facts) {
        int64_t last_unix_ms = doctor_last_call_unix_ms(facts);
        bool is_silent = last_unix_ms >= 0 && facts->now_unix_ms - last_unix_ms > LATELY_MS;
        struct doctor_fact *fact = &facts->objects[DOCTOR_ALL_PODS];
        const struct cluster_listing listing = {.path = KUBE_PODS,
                                                .on_begin = forget_pods,
                                                .on_item = examine_pod,
                                                .userdata = facts};

        facts->pods.since_unix_ms = is_silent ? since_unix_ms(facts) : INT64_MAX;
        if (is_silent || facts->policy->idle_line_ratio > 0)
                fact->outcome = cluster_list(cluster, &listing, &fact->err);
}
