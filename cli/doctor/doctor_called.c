#include "cli/doctor/doctor_called.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_config.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "policy/pods/pod_facts.h"

#define BOUND_PODS KUBE_PODS "?fieldSelector=spec.nodeName!%3D"

enum {
        LATELY_MS = 5 * MS_PER_MIN,
        BOUND_MAX_MS = MS_PER_HOUR,
        CLOCK_SLACK_MS = MS_PER_MIN, /* the API server's clock, and an extender's */
};

/* 0: never; -1: not known, as of an older extender */
static int64_t last_call_unix_ms(const struct doctor_facts *facts) {
        const struct doctor_sum calls = doctor_page_sum(
                facts, DOCTOR_EXTENDER, "plimsoll_extender_last_call_timestamp_seconds", NULL,
                NULL);
        bool is_time = calls.count > 0 && calls.largest >= 0 && calls.largest < 1e12;

        return is_time ? (int64_t)(calls.largest * MS_PER_S) : -1;
}

bool doctor_is_call_known(const struct doctor_facts *facts) {
        return last_call_unix_ms(facts) >= 0;
}

bool doctor_is_called_lately(const struct doctor_facts *facts) {
        return facts->now_unix_ms - last_call_unix_ms(facts) <= LATELY_MS;
}

/* ---- The pods. */

/* Whether pods of this scheduler should be asked about: it is a profile of a configuration that
 * names the extender, or, where no profile has a name, the default scheduler. */
static bool is_of_scheduler(const struct doctor_facts *facts, const char *scheduler) {
        bool has_profiles = false;

        for (size_t i = 0; i < facts->config_count; i++) {
                const struct tree_node *profiles = doctor_config_list(facts->configs[i].tree,
                                                                      "profiles");
                for (size_t j = 0; facts->configs[i].entry && j < profiles->count; j++) {
                        const char *name = doctor_config_text(&profiles->items[j], "schedulerName");
                        has_profiles |= name[0] != '\0';
                        if (strcmp(name, scheduler) == 0)
                                return true;
                }
        }
        return !has_profiles && strcmp(scheduler, "default-scheduler") == 0;
}

static void forget_bound(void *userdata) {
        doctor_called_done(userdata);
}

/* Count the pod if its scheduler should have asked about it. */
static void examine_pod(void *userdata, const char *text, size_t len) {
        struct doctor_facts *facts = userdata;
        struct doctor_bound *bound = &facts->bound;
        struct pod_facts pod;
        json_auto_t *object = NULL;

        if (!pod_facts_skim(&pod, text, len) || pod.is_daemonset || pod.is_mirror ||
            pod.node.len == 0 || pod.bound_unix_ms <= bound->since_unix_ms ||
            json_parse(text, len, &object, NULL) < 0)
                return;
        const char *scheduler = json_string_at(object, "spec", "schedulerName", NULL);
        if (!is_of_scheduler(facts, scheduler ? scheduler : "default-scheduler"))
                return;
        if (bound->count++ == 0)
                bound->example = xasprintf("%.*s/%.*s", (int)pod.namespace.len, pod.namespace.text,
                                           (int)size_min(pod.name.len, 100), pod.name.text);
}

void doctor_called_ask(struct cluster *cluster, struct doctor_facts *facts) {
        int64_t last_unix_ms = last_call_unix_ms(facts);
        int64_t hour_ago_unix_ms = facts->now_unix_ms - BOUND_MAX_MS;
        const struct cluster_listing pods = {.path = BOUND_PODS,
                                             .on_begin = forget_bound,
                                             .on_item = examine_pod,
                                             .userdata = facts};

        if (!doctor_is_call_known(facts) || doctor_is_called_lately(facts))
                return;
        facts->bound.since_unix_ms = last_unix_ms + CLOCK_SLACK_MS > hour_ago_unix_ms
                                             ? last_unix_ms + CLOCK_SLACK_MS
                                             : hour_ago_unix_ms;
        struct doctor_fact *fact = &facts->objects[DOCTOR_BOUND_PODS];
        fact->outcome = cluster_list(cluster, &pods, &fact->err);
}

void doctor_called_done(struct doctor_facts *facts) {
        free(TAKE_PTR(facts->bound.example));
        facts->bound.count = 0;
}

/* ---- The check. */

static bool is_never_called(const struct doctor_facts *facts) {
        return doctor_page_sum(facts, DOCTOR_EXTENDER, "plimsoll_extender_requests_total", NULL,
                               NULL)
                       .sum <= 0;
}

void doctor_called_check(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_bound *bound = &facts->bound;
        _cleanup_(freep) char *pods = xasprintf(
                "%zu pods were bound in the last hour, such as %.200s", bound->count,
                bound->example ? bound->example : "none");
        char last[TIMESTAMP_MAX];

        timestamp_format_s(last_call_unix_ms(facts), last, sizeof(last));
        if (is_never_called(facts))
                doctor_find(finding, DOCTOR_WARNING,
                            "no scheduler has called the extender since it started%s%s",
                            bound->count > 0 ? "; " : "", bound->count > 0 ? pods : "");
        else if (bound->count > 0)
                doctor_find(finding, DOCTOR_WARNING, "%s, and the last call was at %s", pods, last);
        else if (!doctor_has(facts, DOCTOR_BOUND_PODS))
                doctor_find(
                        finding, DOCTOR_UNKNOWN,
                        "the last call was at %s; whether pods were bound since is not known: %s",
                        last, facts->objects[DOCTOR_BOUND_PODS].err.msg);
}
