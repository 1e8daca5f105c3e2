#include "policy/live/policy_source.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"
#include "kube/reflector.h"
#include "net/file_watch.h"
#include "policy/live/policy_status.h"

enum {
        STATUS_TIMEOUT_MS = 5000,
        STATUS_RETRIES = 3,
        STATUS_AGAIN_MS = 60000,
        /* How long the program waits for the object before it becomes ready without it. A list of
         * one object that takes longer will not arrive soon. */
        OBJECT_WAIT_MS = 20000,
};

enum policy_origin { FROM_BUILT_IN, FROM_FILE, FROM_OBJECT };

static const char object_text[] = "DynamicSchedulerPolicy " POLICY_OBJECT_NAME;

struct policy_source {
        struct policy_source_options options;
        char *path;
        struct file_watch *file;
        struct kube_api *api;
        struct reflector *objects;
        int64_t wait_until_mono_ms; /* the end of the wait for the first list */
        struct loop_timer wait_end;

        json_t *object; /* as last seen; NULL: none */
        char *problem;  /* the reason why the latest policy is not in force; NULL: it is in force */
        char *warning;  /* policy_warnings_text() of the policy in force */
        enum policy_origin origin; /* of the policy in force */
        size_t metric_count;
        bool is_writer;
        struct kube_fence fence;
        struct kube_call *status_call;
        struct loop_timer status_again; /* after a failure */
        bool is_status_due;             /* the status changed during a call */
        struct error status_err;        /* of the last write; code 0: none */

        int64_t generation;
        struct health_check *check;
        struct metrics_series *generation_gauge, *errors, *is_failed, *is_deleted;
};

static const char *origin_text(const struct policy_source *source) {
        return source->origin == FROM_OBJECT ? object_text
               : source->origin == FROM_FILE ? source->path
                                             : "the built-in policy";
}

bool policy_source_is_awaited(const struct policy_source *source) {
        return source->objects && reflector_is_awaited(source->objects) &&
               loop_now_mono_ms(source->options.loop) < source->wait_until_mono_ms;
}

static void show_policy_state(struct policy_source *source) {
        bool is_deleted = source->origin == FROM_OBJECT && !source->object;
        const char *after = source->problem ? "; cannot load the latest policy: "
                            : is_deleted    ? "; the object was deleted"
                                            : "";
        const char *trouble = source->objects ? reflector_trouble(source->objects) : "";
        const char *status_trouble = source->object ? source->status_err.msg : "";

        metrics_set(source->generation_gauge, (double)source->generation);
        metrics_set(source->is_failed, source->problem != NULL);
        metrics_set(source->is_deleted, is_deleted);
        if (policy_source_is_awaited(source)) {
                health_fail(source->check, "%s is not known yet%s%s", object_text,
                            *trouble ? ": " : "", trouble);
                return;
        }
        if (source->objects && source->options.on_known) /* before the check passes */
                source->options.on_known(source->options.userdata);
        health_pass(source->check, "%s, %zu metric%s, generation %lld%s%s%s%s%s%s%s%s",
                    origin_text(source), source->metric_count, number_plural(source->metric_count),
                    (long long)source->generation, after, source->problem ? source->problem : "",
                    source->warning ? "; " : "", source->warning ? source->warning : "",
                    *trouble ? "; the object is not watched: " : "", trouble,
                    *status_trouble ? "; its status cannot be written: " : "", status_trouble);
}

static void note_policy_in_force(struct policy_source *source, const struct policy *policy,
                                 enum policy_origin origin) {
        source->generation++;
        source->origin = origin;
        source->metric_count = policy->metric_count;
        free(TAKE_PTR(source->problem));
        free(source->warning);
        source->warning = policy_warnings_text(policy);
        log_info(MSG("policy is in force"), STR("from", origin_text(source)),
                 INT("metrics", policy->metric_count), INT("predicates", policy->predicate_count),
                 INT("priorities", policy->priority_count), INT("generation", source->generation));
        for (size_t i = 0; i < size_min(policy->warning_count, POLICY_MAX_WARNINGS); i++)
                log_warn(MSG("policy warning"), STR("warning", policy->warnings[i]));
}

static void policy_put_in_force(struct policy_source *source, struct policy *policy,
                                enum policy_origin origin) {
        note_policy_in_force(source, policy, origin);
        source->options.on_policy(source->options.userdata, policy);
        show_policy_state(source);
}

static void policy_keep_old(struct policy_source *source, const struct error *err) {
        metrics_inc(source->errors);
        if (!source->problem || strcmp(source->problem, err->msg) != 0)
                log_error(MSG("cannot load policy, keeping the previous one"), ERR(err));
        free(source->problem);
        source->problem = xstrdup(err->msg);
        show_policy_state(source);
}

/* ---- A file. */

static void on_policy_file(void *userdata, const char *path) {
        struct policy_source *source = userdata;
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_load_file(path, source->options.is_strict, &policy, &err) < 0)
                policy_keep_old(source, &err);
        else
                policy_put_in_force(source, policy, FROM_FILE);
}

void policy_source_reload(struct policy_source *source) {
        if (source->file)
                file_watch_reload(source->file);
}

/* ---- An object. */

static void write_status(void *userdata);

/* The status of the object is up to date. */
static void status_is_there(struct policy_source *source) {
        if (source->status_err.code)
                log_info(MSG("policy status written again"));
        source->status_err = ERROR_NULL;
        show_policy_state(source);
}

static void on_status_written(void *userdata, const struct kube_answer *answer) {
        struct policy_source *source = userdata;
        struct loop *loop = source->options.loop;
        /* After a conflict or a deletion the watch delivers an event, and that writes again. */
        bool is_failing = answer->outcome != KUBE_OK && answer->outcome != KUBE_CONFLICT &&
                          answer->outcome != KUBE_NOT_FOUND;

        source->status_call = NULL;
        if (is_failing) {
                if (!source->status_err.code)
                        log_warn(MSG("cannot write policy status"),
                                 STR("outcome", kube_outcome_name(answer->outcome)),
                                 ERR(&answer->err));
                source->status_err = answer->err;
                show_policy_state(source);
        } else {
                status_is_there(source);
        }
        if (source->is_status_due)
                write_status(source);
        else if (is_failing)
                loop_timer_arm(loop, &source->status_again,
                               loop_now_mono_ms(loop) + STATUS_AGAIN_MS, write_status, source);
}

static void write_status(void *userdata) {
        struct policy_source *source = userdata;

        source->is_status_due = source->status_call != NULL;
        if (!source->is_writer || !source->object || source->status_call)
                return;

        const struct policy_status status = {
                .generation = json_int_at(0, source->object, "metadata", "generation", NULL),
                .problem = source->problem,
                .warning = source->warning,
                .metric_count = source->metric_count,
        };
        json_auto_t *patch = policy_status_patch(source->object, &status,
                                                 loop_now_unix_ms(source->options.loop));
        if (!patch) {
                status_is_there(source);
                return;
        }
        char *body = json_dumps(patch, JSON_COMPACT);
        source->status_call = kube_start(source->api,
                                         &(struct kube_request){
                                                 .method = "PATCH",
                                                 .path = POLICY_OBJECT_PATH
                                                 "/" POLICY_OBJECT_NAME
                                                 "/status?fieldManager=" KUBE_FIELD_MANAGER,
                                                 .resource = "dynamicschedulerpolicies",
                                                 .content_type = "application/merge-patch+json",
                                                 .body = body,
                                                 .body_bytes = strlen(body),
                                                 .timeout_ms = STATUS_TIMEOUT_MS,
                                                 .max_retries = STATUS_RETRIES,
                                                 .fence = source->fence,
                                                 .on_done = on_status_written,
                                                 .userdata = source,
                                         });
        free(body);
}

void policy_source_set_writer(struct policy_source *source, const struct kube_fence *fence) {
        source->is_writer = fence != NULL;
        if (fence) {
                source->fence = *fence;
                write_status(source);
                return;
        }
        kube_cancel(TAKE_PTR(source->status_call));
        loop_timer_disarm(source->options.loop, &source->status_again);
        source->status_err = ERROR_NULL; /* another program writes it from now on */
        show_policy_state(source);
}

/* The watch also delivers our own writes of the status, which do not change the spec. If an object
 * was replaced, its deletion was delivered first. */
static bool has_same_spec(const json_t *a, const json_t *b) {
        return a && json_equal(json_at(a, "spec", NULL), json_at(b, "spec", NULL)) == 1;
}

static void take_object(struct policy_source *source, const json_t *object) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_from_object(object, source->options.is_strict, &policy, &err) < 0) {
                (void)error_wrap(&err, err.code, "%s", object_text);
                policy_keep_old(source, &err);
        } else {
                policy_put_in_force(source, policy, FROM_OBJECT);
        }
}

static void on_object(void *userdata, enum reflector_event event, const json_t *object) {
        struct policy_source *source = userdata;

        if (event == REFLECTOR_DELETED) {
                json_decref(TAKE_PTR(source->object));
                free(TAKE_PTR(source->problem));
                show_policy_state(source);
                log_warn(MSG("policy object deleted, keeping the policy in force"),
                         STR("in_force", origin_text(source)),
                         INT("generation", source->generation));
                return;
        }
        bool is_news = !has_same_spec(source->object, object);
        json_decref(source->object);
        source->object = json_deep_copy(object);
        if (is_news)
                take_object(source, object);
        write_status(source);
}

static void on_trouble(void *userdata) {
        show_policy_state(userdata);
}

static void on_objects_listed(void *userdata, size_t count) {
        (void)count;
        show_policy_state(userdata);
}

bool policy_source_is_settled(const struct policy_source *source) {
        return !source->objects || source->origin == FROM_OBJECT ||
               (reflector_is_synced(source->objects) && !source->object);
}

void policy_source_watch_object(struct policy_source *source, struct kube_api *api) {
        if (source->path)
                return;
        source->api = api;
        source->objects = reflector_new(
                source->options.loop, source->api, source->options.metrics,
                &(struct reflector_spec){
                        .name = "dynamicschedulerpolicies",
                        .path = POLICY_OBJECT_PATH,
                        .field_selector = "metadata.name=" POLICY_OBJECT_NAME,
                        .max_objects = 1,
                        .on_event = on_object,
                        .on_synced = on_objects_listed,
                        .on_trouble = on_trouble,
                        .userdata = source,
                });
        source->wait_until_mono_ms = loop_now_mono_ms(source->options.loop) + OBJECT_WAIT_MS;
        loop_timer_arm(source->options.loop, &source->wait_end, source->wait_until_mono_ms,
                       on_trouble, source);
        show_policy_state(source);
}

/* ---- The source. */

static void register_policy_metrics(struct policy_source *source, struct metrics *metrics) {
        source->generation_gauge = metrics_gauge(metrics, "plimsoll_policy_generation",
                                                 "Policies put in force since the start.", NULL);
        source->errors = metrics_counter(metrics, "plimsoll_policy_errors_total",
                                         "Policies that could not be loaded.", NULL);
        source->is_failed = metrics_gauge(
                metrics, "plimsoll_policy_failed",
                "1 while the latest policy cannot be loaded and an older one is in force.", NULL);
        source->is_deleted = metrics_gauge(
                metrics, "plimsoll_policy_object_deleted",
                "1 while the policy in force comes from an object that was deleted.", NULL);
}

int policy_source_new(const struct policy_source_options *options, struct policy_source **ret,
                      struct policy **ret_policy, struct error *err) {
        struct policy_source *source = xcalloc(1, sizeof(*source));
        struct policy *policy = NULL;

        if (options->path) /* before the file is read, so that no later change is missed */
                source->file = file_watch_new(options->loop, options->path, on_policy_file, source);
        int r = policy_load_file(options->path, options->is_strict, &policy, err);
        if (r < 0) {
                file_watch_free(source->file);
                free(source);
                return r;
        }
        source->options = *options;
        source->path = xstrdup_or_null(options->path);
        source->check = health_add(options->health, "policy", "not loaded yet");
        register_policy_metrics(source, options->metrics);
        note_policy_in_force(source, policy, source->path ? FROM_FILE : FROM_BUILT_IN);
        show_policy_state(source);
        *ret_policy = policy;
        *ret = source;
        return 0;
}

void policy_source_free(struct policy_source *source) {
        if (!source)
                return;
        source->options.on_known = NULL; /* its receiver may have been freed */
        policy_source_set_writer(source, NULL);
        file_watch_free(source->file);
        loop_timer_disarm(source->options.loop, &source->wait_end);
        reflector_free(source->objects);
        json_decref(source->object);
        free(source->problem);
        free(source->warning);
        free(source->path);
        free(source);
}
