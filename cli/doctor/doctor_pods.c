#include "cli/doctor/doctor_pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_facts.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "policy/pods/pod_facts.h"

enum {
        BOUND_MAX_MS = MS_PER_HOUR,
        CLOCK_SLACK_MS = MS_PER_MIN, /* between the API server's clock and an extender's */
};

static void forget_pods(void *userdata) {
        struct doctor_facts *facts = userdata;
        int64_t since_unix_ms = facts->pods.since_unix_ms;

        doctor_pods_done(&facts->pods);
        facts->pods.since_unix_ms = since_unix_ms;
}

void doctor_pods_done(struct doctor_pods *pods) {
        doctor_set_done(&pods->mixed);
        strmap_done(&pods->idle_nodes);
        free(pods->bound_example);
        *pods = (struct doctor_pods){0};
}

static char *full_name(const struct pod_facts *pod) {
        return xasprintf("%.*s/%.*s", (int)pod->namespace.len, pod->namespace.text,
                         (int)size_min(pod->name.len, 100), pod->name.text);
}

static void look_at_idle(struct doctor_pods *pods, const struct pod_facts *pod) {
        if (pod->is_finished || pod->idle_cores == 0)
                return;
        if (pod->node.len > 0)
                (void)strmap_put(&pods->idle_nodes, pod->node.text, pod->node.len, pods);
        if (pod->request.of[ESTIMATE_CPU] == 0)
                return;
        _cleanup_(freep) char *name = full_name(pod);
        doctor_set_add(&pods->mixed, name, "");
}

/* Should @scheduler ask the extender? It does if it is a profile of a configuration that names the
 * extender, or, if no profile has a name, the default scheduler. */
static bool should_ask(const struct doctor_facts *facts, const char *scheduler) {
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

static void look_at_binding(struct doctor_facts *facts, const struct pod_facts *pod,
                            const char *text, size_t len) {
        struct doctor_pods *pods = &facts->pods;
        json_auto_t *object = NULL;

        if (pod->is_daemonset || pod->is_mirror || pod->node.len == 0 ||
            pod->bound_unix_ms <= pods->since_unix_ms || json_parse(text, len, &object, NULL) < 0)
                return;
        const char *scheduler = json_string_at(object, "spec", "schedulerName", NULL);
        if (!should_ask(facts, scheduler ? scheduler : "default-scheduler"))
                return;
        if (pods->bound_count++ == 0)
                pods->bound_example = full_name(pod);
}

static void examine_pod(void *userdata, const char *text, size_t len) {
        struct doctor_facts *facts = userdata;
        struct pod_facts pod;

        if (!pod_facts_skim(&pod, text, len))
                return;
        look_at_idle(&facts->pods, &pod);
        look_at_binding(facts, &pod, text, len);
}

void doctor_pods_ask(struct cluster *cluster, struct doctor_facts *facts) {
        bool is_silent = doctor_is_call_known(facts) && !doctor_is_called_lately(facts);
        int64_t last_unix_ms = doctor_last_call_unix_ms(facts) + CLOCK_SLACK_MS;
        int64_t hour_ago_unix_ms = facts->now_unix_ms - BOUND_MAX_MS;
        struct doctor_fact *fact = &facts->objects[DOCTOR_ALL_PODS];
        const struct cluster_listing listing = {.path = KUBE_PODS,
                                                .on_begin = forget_pods,
                                                .on_item = examine_pod,
                                                .userdata = facts};

        facts->pods.since_unix_ms = !is_silent                        ? INT64_MAX
                                    : last_unix_ms > hour_ago_unix_ms ? last_unix_ms
                                                                      : hour_ago_unix_ms;
        if (is_silent || facts->policy->idle_line_ratio > 0)
                fact->outcome = cluster_list(cluster, &listing, &fact->err);
}
