#include "controller/cleanup/cleanup.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "controller/cleanup/own_keys.h"
#include "controller/writing/idle_writer.h"
#include "controller/writing/node_taints.h"
#include "controller/writing/publisher.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "kube/reflector.h"

enum {
        LIST_DEADLINE_MS = 30000, /* without progress */
        PROGRESS_MS = 2000,
        PAGE_LIMIT = 250, /* whole Nodes, some 17 kB each */
        LEASE_SKEW_MS = 5000,
        LEASE_PAUSE_MS = 1000,
        LEASE_WAIT_MS = 21000, /* a killed controller holds it for 20 s */
};

/* What is removed from a node, in this order; each with its own patch. */
enum cleanup_stage { CLEAN_ANNOTATIONS, CLEAN_TAINTS, CLEAN_OFFER, CLEAN_STAGES };

struct dirty_node {
        struct publisher_job job; /* its first member */
        char *name;
        json_t *nulls;
        struct node_taints taints;
        bool has_offer; /* of idle CPU */
        enum cleanup_stage stage;
};

struct cleanup {
        const struct daemon *daemon;
        struct cleanup_options options;
        struct policy *policy;
        struct reflector *reflector;
        struct publisher *publisher;
        struct patch_kind *patches; /* a job for each node that is not clean */
        struct kube_call *call;     /* for the Lease, the policy, and the Lease again */
        char *lease_path;
        char *lease_version; /* of a Lease that nobody holds; NULL: none */
        int64_t lease_give_up_mono_ms;
        bool is_waiting;
        struct loop_timer deadline, progress, lease_timer;
        size_t nodes, done, failed;
        bool may_not_patch, may_not_patch_status;
        int exit_code;
};

static void end_cleanup(struct cleanup *cleanup, int exit_code) {
        cleanup->exit_code = exit_code;
        loop_stop(cleanup->daemon->loop);
}

/* The Lease */

static void on_lease_deleted(void *userdata, const struct kube_answer *answer) {
        struct cleanup *cleanup = userdata;

        cleanup->call = NULL;
        if (answer->outcome == KUBE_OK)
                log_info(MSG("lease deleted"), STR("lease", cleanup->options.lease_name));
        else if (answer->outcome != KUBE_NOT_FOUND)
                log_warn(MSG("cannot delete the lease"), STR("lease", cleanup->options.lease_name),
                         STR("namespace", cleanup->options.lease_namespace), ERR(&answer->err));
        end_cleanup(cleanup, 0);
}

/* Only if it has not changed: a controller that has been started since keeps its Lease. */
static void delete_lease(struct cleanup *cleanup) {
        json_auto_t *body = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind",
                                      "DeleteOptions", "preconditions", "resourceVersion",
                                      cleanup->lease_version);
        _cleanup_(freep) char *text = json_dumps(body, JSON_COMPACT);

        cleanup->call = kube_start(cleanup->daemon->api,
                                   &(struct kube_request){.method = "DELETE",
                                                          .path = cleanup->lease_path,
                                                          .resource = "leases",
                                                          .body = text,
                                                          .body_bytes = strlen(text),
                                                          .on_done = on_lease_deleted,
                                                          .userdata = cleanup});
}

/* Nodes */

static void report_cleanup(struct cleanup *cleanup) {
        size_t dirty = cleanup->patches->job_count;

        if (cleanup->may_not_patch)
                log_error(MSG("the account lacks a right"), STR("verb", "patch"),
                          STR("resource", "nodes"));
        if (cleanup->may_not_patch_status)
                log_error(MSG("the account lacks a right"), STR("verb", "patch"),
                          STR("resource", "nodes/status"));
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
        if (cleanup->failed == 0 && cleanup->lease_version && !cleanup->options.is_dry_run)
                delete_lease(cleanup);
        else
                end_cleanup(cleanup, cleanup->failed > 0);
}

static void on_cleanup_progress(void *userdata) {
        struct cleanup *cleanup = userdata;

        log_info(MSG("cleaning up"), INT("nodes", cleanup->patches->job_count),
                 INT("cleaned", cleanup->done), INT("failed", cleanup->failed));
        publisher_tick(cleanup->publisher);
        loop_timer_arm(cleanup->daemon->loop, &cleanup->progress,
                       loop_now_mono_ms(cleanup->daemon->loop) + PROGRESS_MS, on_cleanup_progress,
                       cleanup);
}

/* Patches */

static void count_cleaned(struct cleanup *cleanup, bool is_clean) {
        if (is_clean)
                cleanup->done++;
        else
                cleanup->failed++;
        if (cleanup->done + cleanup->failed == cleanup->patches->job_count)
                report_cleanup(cleanup);
}

static bool is_stage_needed(const struct dirty_node *node, enum cleanup_stage stage) {
        if (stage == CLEAN_ANNOTATIONS)
                return json_object_size(node->nulls) > 0;
        return stage == CLEAN_TAINTS ? node_taints_count(&node->taints) > 0 : node->has_offer;
}

/* Begins the first needed stage from @stage on; false: there is none. */
static bool begin_stage(struct dirty_node *node, enum cleanup_stage stage) {
        while (stage < CLEAN_STAGES && !is_stage_needed(node, stage))
                stage++;
        node->stage = stage;
        node->job.content_type = stage == CLEAN_TAINTS ? NODE_TAINTS_PATCH_TYPE : NULL;
        node->job.is_of_status = stage == CLEAN_OFFER;
        return stage < CLEAN_STAGES;
}

static bool on_cleanup_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        struct dirty_node *node = (struct dirty_node *)job;

        if (node->stage == CLEAN_TAINTS)
                return node_taints_patch(&node->taints, 0, NULL, patch);
        if (node->stage == CLEAN_OFFER)
                return idle_writer_patch(NULL, IDLE_OFFER_NONE, patch);
        _cleanup_(freep) char *nulls = json_dumps(node->nulls, JSON_COMPACT);
        if (buf_printf(patch, "{\"metadata\":{\"annotations\":%s}}", nulls))
                return true;
        log_error(MSG("node has too many annotations for one patch"), STR("node", node->name));
        count_cleaned(userdata, false);
        return false;
}

static void on_cleanup_done(void *userdata, struct publisher_job *job, enum patch_outcome outcome) {
        struct dirty_node *node = (struct dirty_node *)job;
        struct cleanup *cleanup = userdata;

        if (outcome == PATCH_DENIED && job->is_of_status)
                cleanup->may_not_patch_status = true;
        else if (outcome == PATCH_DENIED)
                cleanup->may_not_patch = true;
        if (outcome == PATCH_WRITTEN && begin_stage(node, node->stage + 1))
                publisher_push(job, 0);
        else /* a node that is gone is clean */
                count_cleaned(cleanup, outcome == PATCH_WRITTEN || outcome == PATCH_GONE);
}

/* Listing */

static void drop_dirty(struct cleanup *cleanup) {
        struct publisher_job *job;

        while ((job = TAILQ_FIRST(&cleanup->patches->jobs)) != NULL) {
                struct dirty_node *node = (struct dirty_node *)job;
                publisher_remove(job);
                json_decref(node->nulls);
                free(node->name);
                free(node);
        }
}

/* Later events are about our own patches, or new nodes, which are clean. */
static bool is_past_list(const struct cleanup *cleanup) {
        return loop_timer_is_armed(&cleanup->progress) || cleanup->call;
}

static void on_dirty_list_begins(void *userdata) {
        struct cleanup *cleanup = userdata;

        if (!is_past_list(cleanup))
                drop_dirty(cleanup);
}

static void on_listed_node(void *userdata, enum reflector_event event, const json_t *object) {
        struct cleanup *cleanup = userdata;

        if (event != REFLECTOR_PRESENT || is_past_list(cleanup))
                return;
        bool is_odd;
        struct dirty_node *node = xcalloc(1, sizeof(*node));
        node->nulls = own_keys_find(object, cleanup->policy, cleanup->options.prefix);
        node->taints = node_taints_read(json_at(object, "spec", "taints", NULL));
        node->has_offer = idle_writer_carried(json_at(object, "status", NULL), &is_odd) !=
                          IDLE_OFFER_NONE;
        if (!begin_stage(node, CLEAN_ANNOTATIONS)) {
                json_decref(node->nulls);
                free(node);
                return;
        }
        node->name = xstrdup(json_string_at(object, "metadata", "name", NULL));
        publisher_add(cleanup->patches, &node->job, node->name);
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
        if (node->has_offer)
                (void)printf("%s" KUBE_IDLE_RESOURCE, between);
        (void)putchar('\n');
}

static void on_all_listed(void *userdata, size_t count) {
        struct cleanup *cleanup = userdata;
        struct publisher_job *job;

        if (is_past_list(cleanup))
                return;
        cleanup->nodes = count;
        loop_timer_disarm(cleanup->daemon->loop, &cleanup->deadline);
        TAILQ_FOREACH (job, &cleanup->patches->jobs, link) {
                if (cleanup->options.is_dry_run)
                        print_keys((struct dirty_node *)job);
                else
                        publisher_push(job, 0);
        }
        if (cleanup->options.is_dry_run || cleanup->patches->job_count == 0)
                report_cleanup(cleanup);
        else
                on_cleanup_progress(cleanup);
}

static void on_list_deadline(void *userdata) {
        struct cleanup *cleanup = userdata;

        if (cleanup->reflector) {
                int64_t late_mono_ms = reflector_progress_mono_ms(cleanup->reflector) +
                                       LIST_DEADLINE_MS;
                if (loop_now_mono_ms(cleanup->daemon->loop) < late_mono_ms) {
                        loop_timer_arm(cleanup->daemon->loop, &cleanup->deadline, late_mono_ms,
                                       on_list_deadline, cleanup);
                        return;
                }
        }
        log_error(MSG("cannot list nodes"),
                  STR("trouble", cleanup->reflector ? reflector_trouble(cleanup->reflector) : ""));
        end_cleanup(cleanup, 1);
}

static void list_dirty(struct cleanup *cleanup) {
        cleanup->reflector = reflector_new(cleanup->daemon->loop, cleanup->daemon->api,
                                           cleanup->daemon->metrics,
                                           &(struct reflector_spec){
                                                   .name = "nodes",
                                                   .path = KUBE_NODES,
                                                   .label_selector = cleanup->options.node_selector,
                                                   .page_limit = PAGE_LIMIT,
                                                   .on_list_begin = on_dirty_list_begins,
                                                   .on_event = on_listed_node,
                                                   .on_synced = on_all_listed,
                                                   .userdata = cleanup,
                                           });
}

/* First the Lease (is a controller running?) and the policy (which metrics are there?) */

static void ask_api(struct cleanup *cleanup, const char *path, const char *resource,
                    kube_done_fn *on_answer) {
        cleanup->call = kube_start(cleanup->daemon->api,
                                   &(struct kube_request){.method = "GET",
                                                          .path = path,
                                                          .resource = resource,
                                                          .max_retries = 2,
                                                          .on_done = on_answer,
                                                          .userdata = cleanup});
}

static void on_policy_object(void *userdata, const struct kube_answer *answer) {
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
        list_dirty(cleanup);
}

static bool is_held(const json_t *lease, int64_t now_unix_ms) {
        const char *holder = json_string_at(lease, "spec", "holderIdentity", NULL);
        const char *renewed = json_string_at(lease, "spec", "renewTime", NULL);
        json_int_t duration_s = json_int_at(0, lease, "spec", "leaseDurationSeconds", NULL);
        int64_t renewed_unix_ms;

        return holder && *holder && renewed && duration_s < INT32_MAX &&
               timestamp_parse(renewed, strlen(renewed), &renewed_unix_ms) &&
               now_unix_ms < renewed_unix_ms + duration_s * MS_PER_S + LEASE_SKEW_MS;
}

static void on_lease(void *userdata, const struct kube_answer *answer);

static void ask_for_lease(void *userdata) {
        struct cleanup *cleanup = userdata;

        loop_timer_arm(cleanup->daemon->loop, &cleanup->deadline,
                       loop_now_mono_ms(cleanup->daemon->loop) + LIST_DEADLINE_MS, on_list_deadline,
                       cleanup);
        ask_api(cleanup, cleanup->lease_path, "leases", on_lease);
}

/* A controller that is being stopped finishes its patches, and then gives the Lease up. */
static bool wait_for_lease(struct cleanup *cleanup, const char *holder) {
        int64_t next_mono_ms = loop_now_mono_ms(cleanup->daemon->loop) + LEASE_PAUSE_MS;

        if (cleanup->options.is_dry_run || next_mono_ms > cleanup->lease_give_up_mono_ms)
                return false;
        if (!cleanup->is_waiting)
                log_info(MSG("waiting for a controller to give up the lease"),
                         STR("lease", cleanup->options.lease_name), STR("holder", holder));
        cleanup->is_waiting = true;
        loop_timer_arm(cleanup->daemon->loop, &cleanup->lease_timer, next_mono_ms, ask_for_lease,
                       cleanup);
        return true;
}

static void on_lease(void *userdata, const struct kube_answer *answer) {
        struct cleanup *cleanup = userdata;
        json_auto_t *lease = NULL;

        cleanup->call = NULL;
        bool is_read = answer->outcome == KUBE_OK &&
                       json_parse(answer->body, answer->body_bytes, &lease, NULL) == 0;
        const char *holder = json_string_at(lease, "spec", "holderIdentity", NULL);
        const char *version = json_string_at(lease, "metadata", "resourceVersion", NULL);
        if (!is_read || !is_held(lease, loop_now_unix_ms(cleanup->daemon->loop)))
                cleanup->lease_version = version ? xstrdup(version) : NULL;
        else if (wait_for_lease(cleanup, holder))
                return;
        else
                log_warn(MSG("a running controller holds the lease and will write the annotations "
                             "again"),
                         STR("lease", cleanup->options.lease_name),
                         STR("namespace", cleanup->options.lease_namespace), STR("holder", holder));
        if (cleanup->options.policy_object)
                ask_api(cleanup, cleanup->options.policy_object, "dynamicschedulerpolicies",
                        on_policy_object);
        else
                list_dirty(cleanup);
}

struct cleanup *cleanup_new(const struct daemon *daemon, const struct cleanup_options *options,
                            struct policy *policy) {
        struct cleanup *cleanup = xcalloc(1, sizeof(*cleanup));

        cleanup->daemon = daemon;
        cleanup->options = *options;
        cleanup->policy = policy;
        cleanup->exit_code = 1; /* in case a signal ends it */
        cleanup->publisher = publisher_new(&(struct publisher_options){
                .daemon = daemon, .patches_per_s = options->patches_per_s});
        cleanup->patches = publisher_add_kind(
                cleanup->publisher,
                &(struct patch_kind_options){
                        .what = "cleanup",
                        .max_in_flight = publisher_in_flight(options->patches_per_s),
                        .max_retry_ms = 1, /* none is tried again */
                        .on_turn = on_cleanup_turn,
                        .on_done = on_cleanup_done,
                        .userdata = cleanup});
        cleanup->lease_path = kube_path(KUBE_COORDINATION, options->lease_namespace, "leases",
                                        options->lease_name, "");
        cleanup->lease_give_up_mono_ms = loop_now_mono_ms(daemon->loop) + LEASE_WAIT_MS;
        ask_for_lease(cleanup);
        return cleanup;
}

void cleanup_free(struct cleanup *cleanup) {
        kube_cancel(cleanup->call);
        reflector_free(cleanup->reflector);
        drop_dirty(cleanup);
        publisher_free(cleanup->publisher);
        loop_timer_disarm(cleanup->daemon->loop, &cleanup->deadline);
        loop_timer_disarm(cleanup->daemon->loop, &cleanup->progress);
        loop_timer_disarm(cleanup->daemon->loop, &cleanup->lease_timer);
        free(cleanup->lease_path);
        free(cleanup->lease_version);
        policy_free(cleanup->policy);
        free(cleanup);
}

int cleanup_exit_code(const struct cleanup *cleanup) {
        return cleanup->exit_code;
}
