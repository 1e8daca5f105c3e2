#include "policy/pods/pod_facts.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/quantity.h"

/* A CronJob's Job is called after it and the minutes since the epoch of its run. */
enum { JOB_TIME_MIN_DIGITS = 8 };

struct owner {
        struct skim_string kind, name;
        bool is_controller;
};

struct owners {
        struct owner first; /* that is the controller, else of all */
        bool has_daemonset;
};

struct metadata {
        struct skim_string namespace, name, uid, pod_template_hash, labels;
        struct owners owners;
        int64_t created_unix_ms;
        bool is_mirror;
};

struct requests {
        struct pod_load load;
        bool is_given[ESTIMATE_RESOURCE_COUNT]; /* and can be read */
};

struct container {
        struct pod_load request;
        bool is_sidecar; /* if it is an init container */
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

struct status {
        int64_t bound_unix_ms;
        bool is_finished;
};

/* What is read of a value: false when it is no JSON. */
typedef bool member_fn(struct skim *skim, const struct skim_string *key, void *ret);
typedef bool element_fn(struct skim *skim, void *ret);

/* Each member of the object at the cursor; any other value has none. */
static bool each_member(struct skim *skim, member_fn *fn, void *ret) {
        struct skim_string key;
        enum skim_step step;

        if (skim_peek(skim) != '{')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;)
                if (!fn(skim, &key, ret))
                        return false;
        return step == SKIM_END;
}

static bool each_element(struct skim *skim, element_fn *fn, void *ret) {
        enum skim_step step;

        if (skim_peek(skim) != '[')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;)
                if (!fn(skim, ret))
                        return false;
        return step == SKIM_END;
}

/* 0: unknown */
static bool read_pod_time(struct skim *skim, int64_t *ret_unix_ms) {
        struct skim_string text;
        int64_t at_unix_ms = 0;

        if (!skim_plain_text(skim, &text))
                return false;
        bool is_time = timestamp_parse(text.text, text.len, &at_unix_ms);
        *ret_unix_ms = is_time && at_unix_ms > 0 ? at_unix_ms : 0;
        return true;
}

static bool read_true(struct skim *skim, bool *ret) {
        *ret = skim_peek(skim) == 't';
        return skim_value(skim);
}

/* metadata */

static bool read_owner_member(struct skim *skim, const struct skim_string *key, void *ret) {
        struct owner *owner = ret;

        if (skim_is(key, "kind"))
                return skim_plain_text(skim, &owner->kind);
        if (skim_is(key, "name"))
                return skim_plain_text(skim, &owner->name);
        if (skim_is(key, "controller"))
                return read_true(skim, &owner->is_controller);
        return skim_value(skim);
}

static bool read_owner(struct skim *skim, void *ret) {
        struct owners *owners = ret;
        struct owner *best = &owners->first;
        struct owner owner = {0};

        if (!each_member(skim, read_owner_member, &owner))
                return false;
        owners->has_daemonset |= skim_is(&owner.kind, "DaemonSet");
        if (owner.kind.len > 0 && owner.name.len > 0 &&
            (best->name.len == 0 || (owner.is_controller && !best->is_controller)))
                *best = owner;
        return true;
}

static bool read_label(struct skim *skim, const struct skim_string *key, void *ret) {
        return skim_is(key, "pod-template-hash") ? skim_plain_text(skim, ret) : skim_value(skim);
}

static bool read_pod_annotation(struct skim *skim, const struct skim_string *key, void *ret) {
        if (skim_is(key, "kubernetes.io/config.mirror"))
                *(bool *)ret = true;
        return skim_value(skim);
}

static bool read_pod_metadata(struct skim *skim, const struct skim_string *key, void *ret) {
        struct metadata *metadata = ret;

        if (skim_is(key, "namespace"))
                return skim_plain_text(skim, &metadata->namespace);
        if (skim_is(key, "name"))
                return skim_plain_text(skim, &metadata->name);
        if (skim_is(key, "uid"))
                return skim_plain_text(skim, &metadata->uid);
        if (skim_is(key, "creationTimestamp"))
                return read_pod_time(skim, &metadata->created_unix_ms);
        if (skim_is(key, "labels")) {
                const char *begin = skim->at;
                metadata->pod_template_hash = (struct skim_string){0};
                if (!each_member(skim, read_label, &metadata->pod_template_hash))
                        return false;
                metadata->labels = (struct skim_string){.text = begin,
                                                        .len = (size_t)(skim->at - begin)};
                return true;
        }
        if (skim_is(key, "annotations")) {
                metadata->is_mirror = false;
                return each_member(skim, read_pod_annotation, &metadata->is_mirror);
        }
        if (skim_is(key, "ownerReferences")) {
                metadata->owners = (struct owners){0};
                return each_element(skim, read_owner, &metadata->owners);
        }
        return skim_value(skim);
}

/* spec */

static void add_load(struct pod_load *sum, const struct pod_load *load) {
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sum->of[r] += load->of[r];
}

static bool read_request(struct skim *skim, const struct skim_string *key, void *ret) {
        struct requests *requests = ret;
        int r = skim_is(key, "cpu") ? ESTIMATE_CPU : ESTIMATE_MEM;
        struct skim_string text;
        double amount;

        if (r == ESTIMATE_MEM && !skim_is(key, "memory"))
                return skim_value(skim);
        if (!skim_plain_text(skim, &text))
                return false;
        requests->is_given[r] = quantity_parse(text.text, text.len, &amount) && amount >= 0;
        requests->load.of[r] = requests->is_given[r] ? amount : 0;
        return true;
}

static bool read_requests(struct skim *skim, struct requests *ret) {
        *ret = (struct requests){0};
        return each_member(skim, read_request, ret);
}

static bool read_pod_resources(struct skim *skim, const struct skim_string *key, void *ret) {
        return skim_is(key, "requests") ? read_requests(skim, ret) : skim_value(skim);
}

static bool read_container_member(struct skim *skim, const struct skim_string *key, void *ret) {
        struct container *container = ret;
        struct requests requests = {0};
        struct skim_string policy;

        if (skim_is(key, "resources")) {
                if (!each_member(skim, read_pod_resources, &requests))
                        return false;
                container->request = requests.load;
                return true;
        }
        if (skim_is(key, "restartPolicy")) {
                if (!skim_plain_text(skim, &policy))
                        return false;
                container->is_sidecar = skim_is(&policy, "Always");
                return true;
        }
        return skim_value(skim);
}

static bool read_container(struct skim *skim, void *ret) {
        struct sums *sums = ret;
        struct container container = {0};

        if (!each_member(skim, read_container_member, &container))
                return false;
        add_load(&sums->all, &container.request);
        struct pod_load starting = sums->sidecars;
        add_load(&starting, &container.request);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                sums->starting.of[r] = fmax(sums->starting.of[r], starting.of[r]);
        if (container.is_sidecar)
                sums->sidecars = starting;
        return true;
}

static bool read_containers(struct skim *skim, struct sums *ret) {
        *ret = (struct sums){0};
        return each_element(skim, read_container, ret);
}

static bool read_preference(struct skim *skim, void *ret) {
        *(bool *)ret = true;
        return skim_value(skim);
}

static bool read_terms(struct skim *skim, const struct skim_string *key, void *ret) {
        bool *has_preferences = ret;

        if (!skim_is(key, "preferredDuringSchedulingIgnoredDuringExecution"))
                return skim_value(skim);
        *has_preferences = false;
        return each_element(skim, read_preference, has_preferences);
}

static bool read_affinity(struct skim *skim, const struct skim_string *key, void *ret) {
        struct affinity *affinity = ret;
        bool *of = skim_is(key, "nodeAffinity")      ? &affinity->node
                   : skim_is(key, "podAffinity")     ? &affinity->pod
                   : skim_is(key, "podAntiAffinity") ? &affinity->anti
                                                     : NULL;

        if (!of)
                return skim_value(skim);
        *of = false;
        return each_member(skim, read_terms, of);
}

static bool read_constraint_member(struct skim *skim, const struct skim_string *key, void *ret) {
        bool *is_soft = ret;
        struct skim_string text;

        if (!skim_is(key, "whenUnsatisfiable"))
                return skim_value(skim);
        if (!skim_plain_text(skim, &text))
                return false;
        *is_soft = skim_is(&text, "ScheduleAnyway");
        return true;
}

static bool read_constraint(struct skim *skim, void *ret) {
        bool *is_spread_softly = ret;
        bool is_soft = false;

        if (!each_member(skim, read_constraint_member, &is_soft))
                return false;
        *is_spread_softly |= is_soft;
        return true;
}

/* 0: it is no whole number */
static bool read_integer(struct skim *skim, int64_t *ret) {
        const char *begin = skim->at;

        if (!skim_value(skim))
                return false;
        if (!number_parse_i64(begin, (size_t)(skim->at - begin), ret))
                *ret = 0;
        return true;
}

static bool read_pod_spec(struct skim *skim, const struct skim_string *key, void *ret) {
        struct spec *spec = ret;

        if (skim_is(key, "nodeName"))
                return skim_plain_text(skim, &spec->node);
        if (skim_is(key, "priorityClassName"))
                return skim_plain_text(skim, &spec->priority_class);
        if (skim_is(key, "priority"))
                return read_integer(skim, &spec->priority);
        if (skim_is(key, "containers"))
                return read_containers(skim, &spec->containers);
        if (skim_is(key, "initContainers"))
                return read_containers(skim, &spec->init);
        if (skim_is(key, "overhead"))
                return read_requests(skim, &spec->overhead);
        if (skim_is(key, "affinity")) {
                spec->affinity = (struct affinity){0};
                return each_member(skim, read_affinity, &spec->affinity);
        }
        if (skim_is(key, "topologySpreadConstraints")) {
                spec->is_spread_softly = false;
                return each_element(skim, read_constraint, &spec->is_spread_softly);
        }
        if (skim_is(key, "resources")) {
                spec->own = (struct requests){0};
                return each_member(skim, read_pod_resources, &spec->own);
        }
        return skim_value(skim);
}

/* status */

struct condition {
        struct skim_string type, status;
        int64_t since_unix_ms;
};

static bool read_condition_member(struct skim *skim, const struct skim_string *key, void *ret) {
        struct condition *condition = ret;

        if (skim_is(key, "type"))
                return skim_plain_text(skim, &condition->type);
        if (skim_is(key, "status"))
                return skim_plain_text(skim, &condition->status);
        if (skim_is(key, "lastTransitionTime"))
                return read_pod_time(skim, &condition->since_unix_ms);
        return skim_value(skim);
}

static bool read_condition(struct skim *skim, void *ret) {
        int64_t *bound_unix_ms = ret;
        struct condition condition = {0};

        if (!each_member(skim, read_condition_member, &condition))
                return false;
        if (*bound_unix_ms == 0 && skim_is(&condition.type, "PodScheduled") &&
            skim_is(&condition.status, "True"))
                *bound_unix_ms = condition.since_unix_ms;
        return true;
}

static bool read_pod_status(struct skim *skim, const struct skim_string *key, void *ret) {
        struct status *status = ret;
        struct skim_string phase;

        if (skim_is(key, "phase")) {
                if (!skim_plain_text(skim, &phase))
                        return false;
                status->is_finished = skim_is(&phase, "Succeeded") || skim_is(&phase, "Failed");
                return true;
        }
        if (skim_is(key, "conditions")) {
                status->bound_unix_ms = 0;
                return each_element(skim, read_condition, &status->bound_unix_ms);
        }
        return skim_value(skim);
}

/* The pod */

struct pod {
        struct metadata metadata;
        struct spec spec;
        struct status status;
};

static bool read_pod(struct skim *skim, const struct skim_string *key, void *ret) {
        struct pod *pod = ret;

        if (skim_is(key, "metadata")) {
                pod->metadata = (struct metadata){0};
                return each_member(skim, read_pod_metadata, &pod->metadata);
        }
        if (skim_is(key, "spec")) {
                pod->spec = (struct spec){0};
                return each_member(skim, read_pod_spec, &pod->spec);
        }
        if (skim_is(key, "status")) {
                pod->status = (struct status){0};
                return each_member(skim, read_pod_status, &pod->status);
        }
        return skim_value(skim);
}

static struct pod_load total_of(const struct spec *spec) {
        static const struct pod_load most = {{POD_FACTS_CORES_MAX, POD_FACTS_BYTES_MAX}};
        struct pod_load total;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double app = spec->containers.all.of[r] + spec->init.sidecars.of[r];
                double sum = spec->own.is_given[r] ? spec->own.load.of[r]
                                                   : fmax(app, spec->init.starting.of[r]);
                total.of[r] = fmin(sum + spec->overhead.load.of[r], most.of[r]);
        }
        return total;
}

static size_t without_hash(const struct skim_string *name, const struct skim_string *hash) {
        if (hash->len == 0 || name->len < hash->len + 2)
                return name->len;
        size_t len = name->len - hash->len - 1;
        bool ends_in_it = name->text[len] == '-' &&
                          memcmp(name->text + len + 1, hash->text, hash->len) == 0;
        return ends_in_it ? len : name->len;
}

static size_t without_time(const struct skim_string *name) {
        size_t len = name->len;

        while (len > 0 && name->text[len - 1] >= '0' && name->text[len - 1] <= '9')
                len--;
        bool is_time = name->len - len >= JOB_TIME_MIN_DIGITS && len >= 2 &&
                       name->text[len - 1] == '-';
        return is_time ? len - 1 : name->len;
}

static void append(struct pod_facts *facts, const char *text, size_t len) {
        memcpy(facts->workload + facts->workload_len, text, len);
        facts->workload_len += len;
}

static void name_workload(struct pod_facts *facts, const struct metadata *metadata) {
        const struct owner *owner = &metadata->owners.first;
        struct skim_string name = owner->name;

        if (skim_is(&owner->kind, "ReplicaSet"))
                name.len = without_hash(&name, &metadata->pod_template_hash);
        else if (skim_is(&owner->kind, "Job"))
                name.len = without_time(&name);
        facts->workload_len = 0;
        if (name.len == 0 || metadata->namespace.len == 0 || name.len > POD_FACTS_NAME_MAX ||
            metadata->namespace.len > POD_FACTS_NAMESPACE_MAX ||
            owner->kind.len > POD_FACTS_KIND_MAX)
                return;
        append(facts, metadata->namespace.text, metadata->namespace.len);
        append(facts, "/", 1);
        append(facts, owner->kind.text, owner->kind.len);
        append(facts, "/", 1);
        append(facts, name.text, name.len);
}

static uint64_t hash_uid(const struct skim_string *uid) {
        uint64_t hash = uid->len > 0 ? strmap_hash(uid->text, uid->len) : 0;

        return uid->len > 0 && hash == 0 ? 1 : hash;
}

bool pod_facts_take(struct pod_facts *facts, struct skim *skim) {
        struct pod pod = {0};

        skim->has_odd_text = false;
        if (!each_member(skim, read_pod, &pod))
                return false;
        const struct affinity *affinity = &pod.spec.affinity;
        facts->id = hash_uid(&pod.metadata.uid);
        facts->namespace = pod.metadata.namespace;
        facts->name = pod.metadata.name;
        facts->uid = pod.metadata.uid;
        facts->labels = pod.metadata.labels;
        facts->priority_class = pod.spec.priority_class;
        facts->priority = pod.spec.priority;
        facts->node = pod.spec.node;
        name_workload(facts, &pod.metadata);
        facts->request = total_of(&pod.spec);
        facts->bound_unix_ms = pod.status.bound_unix_ms ? pod.status.bound_unix_ms
                                                        : pod.metadata.created_unix_ms;
        facts->is_finished = pod.status.is_finished;
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
