#include "policy/pods/pod_facts.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/quantity.h"
#include "codec/skim_fields.h"

/* A CronJob's Job is called after it and the minutes since the epoch of its run. */
enum { JOB_TIME_MIN_DIGITS = 8 };
/* After the epoch: since when a pod runs of which no time is known. */
enum { LONG_AGO_MS = 1 };
/* Owners of the pods of one run, each with a name that no other run has. */
static const char *const run_kinds[] = {
        "Workflow",        /* Argo Workflows */
        "TaskRun",         /* Tekton */
        "PipelineRun",     /* Tekton */
        "EphemeralRunner", /* jobs of GitHub Actions */
        "Build",           /* OpenShift */
        "Pod",             /* Spark's executors, of their driver */
};

struct owner {
        struct skim_string kind, name;
        bool is_controller;
};

struct owners {
        struct owner first; /* that is the controller, else of all */
        bool has_daemonset;
};

struct labels {
        struct skim_string text; /* of the whole object */
        struct skim_string pod_template_hash, rollouts_pod_template_hash;
};

struct metadata {
        struct skim_string namespace, name, uid;
        struct labels labels;
        struct owners owners;
        int64_t created_unix_ms;
        bool is_mirror;
};

struct amount {
        double value;  /* >= 0 */
        bool is_given; /* and can be read */
};

struct requests {
        struct amount of[ESTIMATE_RESOURCE_COUNT];
};

struct container {
        struct requests requests;
        struct skim_string restart_policy;
};

/* Of several containers. */
struct sums {
        struct pod_load all, sidecars, starting;
};

/* Whether there are preferences among a pod's terms of each kind. */
struct affinity {
        bool node, pod, anti;
};

struct spec {
        struct skim_string node, priority_class;
        int64_t priority;
        struct sums containers, init;
        struct requests own, overhead;
        struct affinity affinity;
        bool is_spread_softly;
};

struct condition {
        struct skim_string type, status;
        int64_t since_unix_ms;
};

struct status {
        struct skim_string phase;
        int64_t bound_unix_ms, runs_unix_ms;
};

struct pod {
        struct metadata metadata;
        struct spec spec;
        struct status status;
};

/* 0: unknown */
static bool read_pod_time(struct skim *skim, void *ret) {
        struct skim_string text;
        int64_t at_unix_ms = 0;

        if (!skim_plain_text(skim, &text))
                return false;
        bool is_time = timestamp_parse(text.text, text.len, &at_unix_ms);
        *(int64_t *)ret = is_time && at_unix_ms > 0 ? at_unix_ms : 0;
        return true;
}

static bool read_true(struct skim *skim, void *ret) {
        *(bool *)ret = skim_peek(skim) == 't';
        return skim_value(skim);
}

/* Whatever it is, it is there. */
static bool read_presence(struct skim *skim, void *ret) {
        *(bool *)ret = true;
        return skim_value(skim);
}

/* 0: it is no whole number */
static bool read_pod_integer(struct skim *skim, void *ret) {
        const char *begin = skim->at;

        if (!skim_value(skim))
                return false;
        if (!number_parse_i64(begin, (size_t)(skim->at - begin), ret))
                *(int64_t *)ret = 0;
        return true;
}

/* metadata */

static bool read_owner(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("kind", struct owner, kind),
                SKIM_TEXT("name", struct owner, name),
                SKIM_VALUE("controller", struct owner, is_controller, read_true),
                {0},
        };
        struct owners *owners = ret;
        struct owner *best = &owners->first;
        struct owner owner = {0};

        if (!skim_fields(skim, fields, &owner))
                return false;
        owners->has_daemonset |= skim_is(&owner.kind, "DaemonSet");
        if (owner.kind.len > 0 && owner.name.len > 0 &&
            (best->name.len == 0 || (owner.is_controller && !best->is_controller)))
                *best = owner;
        return true;
}

static bool read_pod_labels(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("pod-template-hash", struct labels, pod_template_hash),
                SKIM_TEXT("rollouts-pod-template-hash", struct labels, rollouts_pod_template_hash),
                {0},
        };
        struct labels *labels = ret;
        const char *begin = skim->at;

        *labels = (struct labels){0};
        if (!skim_fields(skim, fields, labels))
                return false;
        labels->text = (struct skim_string){.text = begin, .len = (size_t)(skim->at - begin)};
        return true;
}

static const struct skim_field annotation_fields[] = {
        {SKIM_ONLY("kubernetes.io/config.mirror", bool), .read = read_presence},
        {0},
};

static const struct skim_field metadata_fields[] = {
        SKIM_TEXT("namespace", struct metadata, namespace),
        SKIM_TEXT("name", struct metadata, name),
        SKIM_TEXT("uid", struct metadata, uid),
        SKIM_VALUE("creationTimestamp", struct metadata, created_unix_ms, read_pod_time),
        SKIM_VALUE("labels", struct metadata, labels, read_pod_labels),
        SKIM_OBJECT("annotations", struct metadata, is_mirror, annotation_fields),
        SKIM_LIST("ownerReferences", struct metadata, owners, read_owner),
        {0},
};

/* spec */

static void add_requests(struct pod_load *sum, const struct requests *requests) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sum->of[r] += requests->of[r].value;
}

static bool read_pod_amount(struct skim *skim, void *ret) {
        struct amount *amount = ret;
        struct skim_string text;
        double value;

        if (!skim_plain_text(skim, &text))
                return false;
        amount->is_given = quantity_parse(text.text, text.len, &value) && value >= 0;
        amount->value = amount->is_given ? value : 0;
        return true;
}

static const struct skim_field requests_fields[] = {
        SKIM_VALUE("cpu", struct requests, of[ESTIMATE_CPU], read_pod_amount),
        SKIM_VALUE("memory", struct requests, of[ESTIMATE_MEM], read_pod_amount),
        {0},
};

static const struct skim_field resources_fields[] = {
        {SKIM_ONLY("requests", struct requests), .fields = requests_fields},
        {0},
};

static bool read_container(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_OBJECT("resources", struct container, requests, resources_fields),
                SKIM_TEXT("restartPolicy", struct container, restart_policy),
                {0},
        };
        struct sums *sums = ret;
        struct container container = {0};

        if (!skim_fields(skim, fields, &container))
                return false;
        add_requests(&sums->all, &container.requests);
        struct pod_load starting = sums->sidecars;
        add_requests(&starting, &container.requests);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sums->starting.of[r] = fmax(sums->starting.of[r], starting.of[r]);
        if (skim_is(&container.restart_policy, "Always"))
                sums->sidecars = starting;
        return true;
}

static const struct skim_field terms_fields[] = {
        {SKIM_ONLY("preferredDuringSchedulingIgnoredDuringExecution", bool),
         .read_element = read_presence},
        {0},
};

static const struct skim_field affinity_fields[] = {
        SKIM_OBJECT("nodeAffinity", struct affinity, node, terms_fields),
        SKIM_OBJECT("podAffinity", struct affinity, pod, terms_fields),
        SKIM_OBJECT("podAntiAffinity", struct affinity, anti, terms_fields),
        {0},
};

static bool read_constraint(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                {SKIM_ONLY("whenUnsatisfiable", struct skim_string), .read = skim_field_text},
                {0},
        };
        struct skim_string unsatisfiable = {0};

        if (!skim_fields(skim, fields, &unsatisfiable))
                return false;
        *(bool *)ret |= skim_is(&unsatisfiable, "ScheduleAnyway");
        return true;
}

static const struct skim_field spec_fields[] = {
        SKIM_TEXT("nodeName", struct spec, node),
        SKIM_TEXT("priorityClassName", struct spec, priority_class),
        SKIM_VALUE("priority", struct spec, priority, read_pod_integer),
        SKIM_LIST("containers", struct spec, containers, read_container),
        SKIM_LIST("initContainers", struct spec, init, read_container),
        SKIM_OBJECT("overhead", struct spec, overhead, requests_fields),
        SKIM_OBJECT("affinity", struct spec, affinity, affinity_fields),
        SKIM_LIST("topologySpreadConstraints", struct spec, is_spread_softly, read_constraint),
        SKIM_OBJECT("resources", struct spec, own, resources_fields),
        {0},
};

/* status */

static bool read_condition(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("type", struct condition, type),
                SKIM_TEXT("status", struct condition, status),
                SKIM_VALUE("lastTransitionTime", struct condition, since_unix_ms, read_pod_time),
                {0},
        };
        int64_t *bound_unix_ms = ret;
        struct condition condition = {0};

        if (!skim_fields(skim, fields, &condition))
                return false;
        if (*bound_unix_ms == 0 && skim_is(&condition.type, "PodScheduled") &&
            skim_is(&condition.status, "True"))
                *bound_unix_ms = condition.since_unix_ms;
        return true;
}

static const struct skim_field running_fields[] = {
        {SKIM_ONLY("startedAt", int64_t), .read = read_pod_time},
        {0},
};

static const struct skim_field state_fields[] = {
        {SKIM_ONLY("running", int64_t), .fields = running_fields},
        {0},
};

/* The first container that runs counts. */
static bool read_container_status(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                {SKIM_ONLY("state", int64_t), .fields = state_fields},
                {0},
        };
        int64_t *runs_unix_ms = ret;
        int64_t started_unix_ms = 0;

        if (!skim_fields(skim, fields, &started_unix_ms))
                return false;
        if (started_unix_ms > 0 && (*runs_unix_ms == 0 || started_unix_ms < *runs_unix_ms))
                *runs_unix_ms = started_unix_ms;
        return true;
}

static const struct skim_field status_fields[] = {
        SKIM_TEXT("phase", struct status, phase),
        SKIM_LIST("conditions", struct status, bound_unix_ms, read_condition),
        SKIM_LIST("containerStatuses", struct status, runs_unix_ms, read_container_status),
        {0},
};

/* The pod */

static const struct skim_field pod_fields[] = {
        SKIM_OBJECT("metadata", struct pod, metadata, metadata_fields),
        SKIM_OBJECT("spec", struct pod, spec, spec_fields),
        SKIM_OBJECT("status", struct pod, status, status_fields),
        {0},
};

static struct pod_load total_of(const struct spec *spec) {
        static const struct pod_load most = {{POD_FACTS_CORES_MAX, POD_FACTS_BYTES_MAX}};
        struct pod_load total;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double app = spec->containers.all.of[r] + spec->init.sidecars.of[r];
                double sum = spec->own.of[r].is_given ? spec->own.of[r].value
                                                      : fmax(app, spec->init.starting.of[r]);
                total.of[r] = fmin(sum + spec->overhead.of[r].value, most.of[r]);
        }
        return total;
}

static void cut_suffix(struct skim_string *name, const struct skim_string *suffix) {
        if (suffix->len == 0 || name->len < suffix->len + 2)
                return;
        size_t len = name->len - suffix->len - 1;
        if (name->text[len] == '-' && memcmp(name->text + len + 1, suffix->text, suffix->len) == 0)
                name->len = len;
}

static void cut_time(struct skim_string *name) {
        size_t len = name->len;

        while (len > 0 && name->text[len - 1] >= '0' && name->text[len - 1] <= '9')
                len--;
        bool is_time = name->len - len >= JOB_TIME_MIN_DIGITS && len >= 2 &&
                       name->text[len - 1] == '-';
        if (is_time)
                name->len = len - 1;
}

static bool is_run(const struct skim_string *kind) {
        for (size_t i = 0; i < ARRAY_LEN(run_kinds); i++)
                if (skim_is(kind, run_kinds[i]))
                        return true;
        return false;
}

static struct skim_string text_of(const char *text) {
        return (struct skim_string){.text = text, .len = strlen(text)};
}

static void append(struct pod_facts *facts, const struct skim_string *part, char separator) {
        memcpy(facts->workload + facts->workload_len, part->text, part->len);
        facts->workload_len += part->len;
        if (separator)
                facts->workload[facts->workload_len++] = separator;
}

static void join_workload(struct pod_facts *facts, const struct skim_string *namespace,
                          const struct skim_string *kind, const struct skim_string *name) {
        facts->workload_len = 0;
        if (name->len == 0 || namespace->len == 0 || name->len > POD_FACTS_NAME_MAX ||
            namespace->len > POD_FACTS_NAMESPACE_MAX || kind->len > POD_FACTS_KIND_MAX)
                return;
        append(facts, namespace, '/');
        append(facts, kind, '/');
        append(facts, name, '\0');
}

/* After facts->request. */
static void name_workload(struct pod_facts *facts, const struct pod *pod) {
        const struct metadata *metadata = &pod->metadata;
        const struct labels *labels = &metadata->labels;
        struct skim_string kind = metadata->owners.first.kind, name = metadata->owners.first.name;
        char request[32];

        if (metadata->is_mirror) {
                kind = text_of("Node");
                name = metadata->name;
                cut_suffix(&name, &pod->spec.node);
        } else if (skim_is(&kind, "ReplicaSet")) {
                cut_suffix(&name, labels->rollouts_pod_template_hash.len > 0
                                          ? &labels->rollouts_pod_template_hash
                                          : &labels->pod_template_hash);
        } else if (skim_is(&kind, "Job")) {
                cut_time(&name);
        } else if (is_run(&kind)) {
                (void)snprintf(request, sizeof(request), "%.0fm",
                               1000 * facts->request.of[ESTIMATE_CPU]);
                name = text_of(request);
        }
        join_workload(facts, &metadata->namespace, &kind, &name);
}

static uint64_t hash_uid(const struct skim_string *uid) {
        uint64_t hash = uid->len > 0 ? strmap_hash(uid->text, uid->len) : 0;

        return uid->len > 0 && hash == 0 ? 1 : hash;
}

bool pod_facts_take(struct pod_facts *facts, struct skim *skim) {
        struct pod pod = {0};

        skim->has_odd_text = false;
        if (!skim_fields(skim, pod_fields, &pod))
                return false;
        const struct affinity *affinity = &pod.spec.affinity;
        facts->id = hash_uid(&pod.metadata.uid);
        facts->namespace = pod.metadata.namespace;
        facts->name = pod.metadata.name;
        facts->uid = pod.metadata.uid;
        facts->labels = pod.metadata.labels.text;
        facts->priority_class = pod.spec.priority_class;
        facts->priority = pod.spec.priority;
        facts->node = pod.spec.node;
        facts->request = total_of(&pod.spec);
        name_workload(facts, &pod);
        facts->bound_unix_ms = pod.status.bound_unix_ms ? pod.status.bound_unix_ms
                                                        : pod.metadata.created_unix_ms;
        facts->runs_unix_ms = pod.status.runs_unix_ms;
        if (facts->runs_unix_ms == 0 && skim_is(&pod.status.phase, "Running"))
                facts->runs_unix_ms = facts->bound_unix_ms > 0 ? facts->bound_unix_ms : LONG_AGO_MS;
        facts->is_finished = skim_is(&pod.status.phase, "Succeeded") ||
                             skim_is(&pod.status.phase, "Failed");
        facts->is_daemonset = pod.metadata.owners.has_daemonset;
        facts->is_mirror = pod.metadata.is_mirror;
        facts->has_preferences = affinity->node || affinity->pod || affinity->anti ||
                                 pod.spec.is_spread_softly;
        return true;
}

bool pod_facts_skim(struct pod_facts *facts, const char *text, size_t len) {
        struct skim skim;

        skim_init(&skim, text, len);
        return skim_peek(&skim) == '{' && pod_facts_take(facts, &skim) && skim_at_end(&skim);
}
