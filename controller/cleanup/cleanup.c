#include "controller/cleanup/cleanup.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "controller/cleanup/own_keys.h"
#include "controller/writing/node_taints.h"
#include "controller/writing/publisher.h"
#include "kube/kube_path.h"
#include "kube/reflector.h"
#include "program/outage_log.h"

enum {
        LIST_DEADLINE_MS = 30000,
        PROGRESS_MS = 2000,
        PAGE_LIMIT = 250, /* whole Nodes, some 17 kB each */
        LEASE_SKEW_MS = 5000,
};

struct dirty_node {
        struct publisher_job job; /* its first member */
        char *name;
        json_t *nulls;
        struct node_taints taints;
};

struct cleanup {
        struct loop *loop;
        struct kube_api *api;
        struct metrics *metrics;
        struct cleanup_options options;
        struct policy *policy;
        struct reflector *reflector;
        struct publisher *publisher;
        struct publisher_events of_taints; /* of the job of a node that has only these left */
        struct kube_call *call;            /* for the lease, then for the policy */
        struct strmap by_name;             /* struct dirty_node */
        struct loop_timer deadline, progress;
        struct outage_log failures;
        size_t nodes, done, failed;
        int exit_code;
};

static void finish(struct cleanup *cleanup, int exit_code) {
        cleanup->exit_code = exit_code;
        loop_stop(cleanup->loop);
}

static void sum_up(struct cleanup *cleanup) {
        size_t dirty = cleanup->by_name.len;

        if (cleanup->options.is_dry_run)
                log_info(MSG("dry run, no annotations removed"), INT("nodes", cleanup->nodes),
                         INT("nodes_with_annotations", dirty));
        else if (cleanup->failed > 0)
                log_error(MSG("some nodes could not be cleaned, run --cleanup again"),
                          INT("nodes", cleanup->nodes), INT("cleaned", cleanup->done),
                          INT("failed", cleanup->failed));
        else
                log_info(MSG("all nodes are clean"), INT("nodes", cleanup->nodes),
                         INT("cleaned", cleanup->done),
                         INT("had_none", cleanup->nodes - cleanup->done));
        finish(cleanup, cleanup->failed > 0);
}

static void on_progress(void *userdata) {
        struct cleanup *cleanup = userdata;

        log_info(MSG("cleaning up"), INT("nodes", cleanup->by_name.len),
                 INT("cleaned", cleanup->done), INT("failed", cleanup->failed));
        outage_log_tick(&cleanup->failures, loop_now_mono_ms(cleanup->loop));
        loop_timer_arm(cleanup->loop, &cleanup->progress,
                       loop_now_mono_ms(cleanup->loop) + PROGRESS_MS, on_progress, cleanup);
}

/* Patches */

static void account(struct cleanup *cleanup, bool is_clean) {
        if (is_clean)
                cleanup->done++;
        else
                cleanup->failed++;
        if (cleanup->done + cleanup->failed == cleanup->by_name.len)
                sum_up(cleanup);
}

static bool on_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        struct dirty_node *node = (struct dirty_node *)job;
        _cleanup_(freep) char *nulls = json_dumps(node->nulls, JSON_COMPACT);

        if (!nulls)
                mem_exhausted();
        if (buf_printf(patch, "{\"metadata\":{\"annotations\":%s}}", nulls))
                return true;
        log_error(MSG("node has too many annotations for one patch"), STR("node", node->name));
        account(userdata, false);
        return false;
}

static bool on_taints_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        (void)userdata;
        return node_taints_patch(&((struct dirty_node *)job)->taints, 0, patch);
}

static void on_done(void *userdata, struct publisher_job *job, const struct kube_answer *answer) {
        struct cleanup *cleanup = userdata;
        struct dirty_node *node = (struct dirty_node *)job;

        /* A node that is gone has nothing of ours. */
        bool is_clean = answer->outcome == KUBE_OK || answer->outcome == KUBE_NOT_FOUND;
        if (!is_clean)
                outage_log_failed(&cleanup->failures, loop_now_mono_ms(cleanup->loop), node->name,
                                  NULL, kube_outcome_name(answer->outcome), answer->err.msg);
        bool has_taints = !job->events && node_taints_count(&node->taints) > 0;
        if (answer->outcome == KUBE_OK && has_taints) {
                job->events = &cleanup->of_taints;
                publisher_push(cleanup->publisher, job, 0);
                return;
        }
        account(cleanup, is_clean);
}

/* Nodes */

static void dirty_node_free(struct dirty_node *node) {
        publisher_cancel(&node->job);
        json_decref(node->nulls);
        free(node->name);
        free(node);
}

static void on_node(void *userdata, enum reflector_event event, const json_t *object) {
        struct cleanup *cleanup = userdata;
        const char *name = json_string_at(object, "metadata", "name", NULL);

        /* Events after the list are our own patches, or new nodes, which have none. */
        if (event != REFLECTOR_PRESENT || loop_timer_is_armed(&cleanup->progress))
                return;
        json_t *nulls = own_keys_find(object, cleanup->policy, cleanup->options.prefix);
        struct node_taints taints = node_taints_read(json_at(object, "spec", "taints", NULL));
        struct dirty_node *known = strmap_get(&cleanup->by_name, name, strlen(name));
        if ((json_object_size(nulls) == 0 && node_taints_count(&taints) == 0) || known) {
                json_decref(nulls);
                return;
        }
        struct dirty_node *node = xcalloc(1, sizeof(*node));
        node->name = xstrdup(name);
        node->job.node = node->name;
        node->nulls = nulls;
        node->taints = taints;
        if (json_object_size(nulls) == 0)
                node->job.events = &cleanup->of_taints;
        (void)strmap_put(&cleanup->by_name, name, strlen(name), node);
}

static void print_keys(const struct dirty_node *node) {
        const char *key, *between = " ";
        json_t *value;

        (void)fputs(node->name, stdout);
        json_object_foreach (node->nulls, key, value) {
                (void)printf("%s%s", between, key);
                between = ",";
        }
        for (unsigned i = 1; i <= POLICY_MAX_LEVELS; i++)
                if (node->taints.at[i - 1] > 0) {
                        (void)printf("%s" POLICY_TAINT_PREFIX "%u", between, i);
                        between = ",";
                }
        (void)putchar('\n');
}

static int compare_names(const void *a, const void *b) {
        const struct dirty_node *const *left = a, *const *right = b;

        return strcmp((*left)->name, (*right)->name);
}

static void on_synced(void *userdata, size_t count) {
        struct cleanup *cleanup = userdata;
        const struct strmap_entry *entry;
        size_t dirty = 0;

        if (loop_timer_is_armed(&cleanup->progress))
                return;
        cleanup->nodes = count;
        loop_timer_disarm(cleanup->loop, &cleanup->deadline);
        _cleanup_(freep) struct dirty_node **nodes = xreallocarray(NULL, cleanup->by_name.len + 1,
                                                                   sizeof(struct dirty_node *));
        STRMAP_FOREACH (entry, &cleanup->by_name)
                nodes[dirty++] = entry->value;
        qsort(nodes, dirty, sizeof(struct dirty_node *), compare_names);
        for (size_t i = 0; i < dirty; i++) {
                if (cleanup->options.is_dry_run)
                        print_keys(nodes[i]);
                else
                        publisher_push(cleanup->publisher, &nodes[i]->job, 0);
        }
        if (cleanup->options.is_dry_run || cleanup->by_name.len == 0)
                sum_up(cleanup);
        else
                on_progress(cleanup);
}

static void on_deadline(void *userdata) {
        struct cleanup *cleanup = userdata;

        log_error(MSG("cannot list nodes"),
                  STR("trouble", cleanup->reflector ? reflector_trouble(cleanup->reflector) : ""));
        finish(cleanup, 1);
}

static void list_nodes(struct cleanup *cleanup) {
        cleanup->reflector = reflector_new(cleanup->loop, cleanup->api, cleanup->metrics,
                                           &(struct reflector_spec){
                                                   .name = "nodes",
                                                   .path = KUBE_NODES,
                                                   .label_selector = cleanup->options.node_selector,
                                                   .page_limit = PAGE_LIMIT,
                                                   .on_event = on_node,
                                                   .on_synced = on_synced,
                                                   .userdata = cleanup,
                                           });
}

/* First the lease (is a controller running?) and the policy (which metrics are there?) */

static void ask(struct cleanup *cleanup, const char *path, const char *resource,
                kube_done_fn *on_answer) {
        cleanup->call = kube_start(cleanup->api, &(struct kube_request){.method = "GET",
                                                                        .path = path,
                                                                        .resource = resource,
                                                                        .max_retries = 2,
                                                                        .on_done = on_answer,
                                                                        .userdata = cleanup});
}

static void on_policy(void *userdata, const struct kube_answer *answer) {
        struct cleanup *cleanup = userdata;
        struct policy *policy = NULL;
        struct error err = answer->err;

        cleanup->call = NULL;
        if (answer->outcome == KUBE_OK &&
            policy_parse(answer->body, answer->body_bytes, false, &policy, &err) == 0) {
                policy_free(cleanup->policy);
                cleanup->policy = policy;
        } else if (answer->outcome != KUBE_NOT_FOUND) {
                log_warn(MSG("cannot use the policy object, using the built-in policy"), ERR(&err));
        }
        list_nodes(cleanup);
}

static bool is_live(const json_t *lease, int64_t now_unix_ms) {
        const char *holder = json_string_at(lease, "spec", "holderIdentity", NULL);
        const char *renewed = json_string_at(lease, "spec", "renewTime", NULL);
        json_int_t duration_s = json_int_at(0, lease, "spec", "leaseDurationSeconds", NULL);
        int64_t renewed_unix_ms;

        return holder && *holder && renewed && duration_s < INT32_MAX &&
               timestamp_parse(renewed, strlen(renewed), &renewed_unix_ms) &&
               now_unix_ms < renewed_unix_ms + duration_s * MS_PER_S + LEASE_SKEW_MS;
}

static void on_lease(void *userdata, const struct kube_answer *answer) {
        struct cleanup *cleanup = userdata;
        json_auto_t *lease = NULL;

        cleanup->call = NULL;
        if (answer->outcome == KUBE_OK &&
            json_parse(answer->body, answer->body_bytes, &lease, NULL) == 0 &&
            is_live(lease, loop_now_unix_ms(cleanup->loop)))
                log_warn(MSG("a running controller holds the lease and will write the annotations "
                             "again"),
                         STR("lease", cleanup->options.lease_name),
                         STR("namespace", cleanup->options.lease_namespace),
                         STR("holder", json_string_at(lease, "spec", "holderIdentity", NULL)));
        if (cleanup->options.policy_object)
                ask(cleanup, cleanup->options.policy_object, "dynamicschedulerpolicies", on_policy);
        else
                list_nodes(cleanup);
}

struct cleanup *cleanup_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                            const struct cleanup_options *options, struct policy *policy) {
        struct cleanup *cleanup = xcalloc(1, sizeof(*cleanup));
        _cleanup_(freep) char *path = kube_path(KUBE_COORDINATION, options->lease_namespace,
                                                "leases", options->lease_name, "");

        cleanup->loop = loop;
        cleanup->api = api;
        cleanup->metrics = metrics;
        cleanup->options = *options;
        cleanup->policy = policy;
        cleanup->exit_code = 1; /* in case a signal ends it */
        cleanup->failures.what = "cleanup";
        cleanup->publisher = publisher_new(loop, api, metrics, options->patches_per_s,
                                           options->patches_in_flight, (struct kube_fence){0},
                                           &(struct publisher_events){.on_turn = on_turn,
                                                                      .on_done = on_done,
                                                                      .userdata = cleanup});
        cleanup->of_taints = (struct publisher_events){.content_type = NODE_TAINTS_PATCH_TYPE,
                                                       .on_turn = on_taints_turn,
                                                       .on_done = on_done,
                                                       .userdata = cleanup};
        loop_timer_arm(loop, &cleanup->deadline, loop_now_mono_ms(loop) + LIST_DEADLINE_MS,
                       on_deadline, cleanup);
        ask(cleanup, path, "leases", on_lease);
        return cleanup;
}

void cleanup_free(struct cleanup *cleanup) {
        const struct strmap_entry *entry;

        kube_cancel(cleanup->call);
        reflector_free(cleanup->reflector);
        STRMAP_FOREACH (entry, &cleanup->by_name)
                dirty_node_free(entry->value);
        publisher_free(cleanup->publisher);
        strmap_done(&cleanup->by_name);
        loop_timer_disarm(cleanup->loop, &cleanup->deadline);
        loop_timer_disarm(cleanup->loop, &cleanup->progress);
        policy_free(cleanup->policy);
        free(cleanup);
}

int cleanup_exit_code(const struct cleanup *cleanup) {
        return cleanup->exit_code;
}
