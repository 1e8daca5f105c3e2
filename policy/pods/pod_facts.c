#include "policy/pods/pod_facts.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "base/strmap.h"
#include "base/timestamp.h"
#include "codec/quantity.h"
#include "codec/skim_fields.h"
#include "kube/kube_proto.h"
#include "policy/pods/pod_workload.h"

/* The start of a running pod for which no time is known. */
enum { LONG_AGO_MS = 1 };

/* The requests that are summed up: the resources of the estimate, and idle CPU. */
enum { IDLE_MILLI_CPU = ESTIMATE_RESOURCE_COUNT, REQUESTED_COUNT };

struct request_sum {
        double of[REQUESTED_COUNT];
};

struct owner {
        struct skim_string kind, name;
        bool is_controller;
};

struct owners {
        struct owner first; /* the first controller, or else the first owner */
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
        double value; /* >= 0 */
        bool is_set;  /* present and readable */
};

struct requests {
        struct amount of[REQUESTED_COUNT];
};

/* What the node has allocated to a container or a pod, and what is in effect. */
struct allocation {
        struct requests allocated, actuated;
};

struct container {
        struct requests requests;
        struct skim_string restart_policy;
};

/* The sums over several containers. */
struct sums {
        struct request_sum all, sidecars, starting;
        size_t requesting; /* the number of containers with a request */
};

struct terms {
        bool is_preferring, is_requiring;
};

struct affinity {
        struct terms node, pod, anti;
};

struct spread {
        bool is_soft, is_hard;
};

struct spec {
        struct skim_string node, scheduler, priority_class, group;
        int64_t priority;
        struct sums containers, init;
        struct requests own, overhead;
        struct affinity affinity;
        struct spread spread;
        bool has_selector, has_volume_claim, has_device_claim;
};

struct condition {
        struct skim_string type, status, reason;
        int64_t since_unix_ms;
};

struct conditions {
        int64_t bound_unix_ms;
        bool is_retry, is_resize_infeasible;
};

struct container_status {
        int64_t started_unix_ms;
        struct allocation allocation;
};

struct container_statuses {
        int64_t runs_unix_ms;
        struct request_sum allocated, actuated;
        size_t allocated_count; /* containers with allocated resources */
};

/* A resource of the node that a device claims. */
struct claimed {
        struct skim_string name;
        struct amount quantity, per_pod, per_container;
};

struct claim {
        size_t containers;
        struct claim_sum {
                struct request_sum once, per_container;
        } mapping, overhead;
};

struct status {
        struct skim_string phase, qos_class;
        struct conditions conditions;
        struct container_statuses containers;
        struct allocation allocation;
        struct request_sum claimed;
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

/* True if there is any value. */
static bool read_presence(struct skim *skim, void *ret) {
        *(bool *)ret = true;
        return skim_value(skim);
}

/* 0: it is not a whole number */
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

static void add_requests(struct request_sum *sum, const struct requests *requests) {
        for (int r = 0; r < REQUESTED_COUNT; r++)
                sum->of[r] += requests->of[r].value;
}

static bool has_any(const struct requests *requests) {
        bool is_any = false;

        for (int r = 0; r < REQUESTED_COUNT; r++)
                is_any |= requests->of[r].is_set;
        return is_any;
}

static bool read_pod_amount(struct skim *skim, void *ret) {
        struct amount *amount = ret;
        struct skim_string text;
        double value;

        if (!skim_plain_text(skim, &text))
                return false;
        amount->is_set = quantity_parse(text.text, text.len, &value) && value >= 0;
        amount->value = amount->is_set ? value : 0;
        return true;
}

static const struct skim_field requests_fields[] = {
        SKIM_VALUE("cpu", struct requests, of[ESTIMATE_CPU], read_pod_amount),
        SKIM_VALUE("memory", struct requests, of[ESTIMATE_MEM], read_pod_amount),
        SKIM_VALUE(KUBE_IDLE_RESOURCE, struct requests, of[IDLE_MILLI_CPU], read_pod_amount),
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
        sums->requesting += has_any(&container.requests);
        struct request_sum starting = sums->sidecars;
        add_requests(&starting, &container.requests);
        for (int r = 0; r < REQUESTED_COUNT; r++)
                sums->starting.of[r] = fmax(sums->starting.of[r], starting.of[r]);
        if (skim_is(&container.restart_policy, "Always"))
                sums->sidecars = starting;
        return true;
}

/* An object or a list that is not empty. */
static bool read_nonempty(struct skim *skim, void *ret) {
        const char *begin = skim->at;
        char first = skim_peek(skim);

        if (!skim_value(skim))
                return false;
        *(bool *)ret = first == '{' || first == '[';
        for (const char *c = begin; c < skim->at; c++)
                if (!strchr("{}[] \t\r\n", *c))
                        return true;
        *(bool *)ret = false;
        return true;
}

static const struct skim_field terms_fields[] = {
        SKIM_LIST("preferredDuringSchedulingIgnoredDuringExecution", struct terms, is_preferring,
                  read_presence),
        SKIM_VALUE("requiredDuringSchedulingIgnoredDuringExecution", struct terms, is_requiring,
                   read_nonempty),
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
        ((struct spread *)ret)->is_soft |= skim_is(&unsatisfiable, "ScheduleAnyway");
        ((struct spread *)ret)->is_hard |= skim_is(&unsatisfiable, "DoNotSchedule");
        return true;
}

static bool read_volume(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                {SKIM_ONLY("persistentVolumeClaim", bool), .read = read_presence},
                {SKIM_ONLY("ephemeral", bool), .read = read_presence},
                {0},
        };

        return skim_fields(skim, fields, ret);
}

static const struct skim_field group_fields[] = {
        {SKIM_ONLY("podGroupName", struct skim_string), .read = skim_field_text},
        {0},
};

static const struct skim_field spec_fields[] = {
        SKIM_TEXT("nodeName", struct spec, node),
        SKIM_TEXT("schedulerName", struct spec, scheduler),
        SKIM_TEXT("priorityClassName", struct spec, priority_class),
        SKIM_VALUE("priority", struct spec, priority, read_pod_integer),
        SKIM_LIST("containers", struct spec, containers, read_container),
        SKIM_LIST("initContainers", struct spec, init, read_container),
        SKIM_OBJECT("overhead", struct spec, overhead, requests_fields),
        SKIM_OBJECT("affinity", struct spec, affinity, affinity_fields),
        SKIM_LIST("topologySpreadConstraints", struct spec, spread, read_constraint),
        SKIM_VALUE("nodeSelector", struct spec, has_selector, read_nonempty),
        SKIM_LIST("volumes", struct spec, has_volume_claim, read_volume),
        SKIM_LIST("resourceClaims", struct spec, has_device_claim, read_presence),
        SKIM_OBJECT("resources", struct spec, own, resources_fields),
        SKIM_OBJECT("schedulingGroup", struct spec, group, group_fields),
        {0},
};

/* status */

static bool read_condition(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("type", struct condition, type),
                SKIM_TEXT("status", struct condition, status),
                SKIM_TEXT("reason", struct condition, reason),
                SKIM_VALUE("lastTransitionTime", struct condition, since_unix_ms, read_pod_time),
                {0},
        };
        struct conditions *conditions = ret;
        struct condition condition = {0};

        if (!skim_fields(skim, fields, &condition))
                return false;
        bool is_scheduled = skim_is(&condition.type, "PodScheduled");
        if (conditions->bound_unix_ms == 0 && is_scheduled && skim_is(&condition.status, "True"))
                conditions->bound_unix_ms = condition.since_unix_ms;
        conditions->is_retry |= is_scheduled && skim_is(&condition.status, "False") &&
                                !skim_is(&condition.reason, "SchedulingGated");
        if (skim_is(&condition.type, "PodResizePending"))
                conditions->is_resize_infeasible = skim_is(&condition.reason, "Infeasible");
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

static void add_allocation(struct container_statuses *sums, const struct allocation *allocation) {
        bool is_actuated = has_any(&allocation->actuated);

        if (!has_any(&allocation->allocated))
                return;
        sums->allocated_count++;
        add_requests(&sums->allocated, &allocation->allocated);
        add_requests(&sums->actuated, is_actuated ? &allocation->actuated : &allocation->allocated);
}

/* The container that started first determines the start of the pod. */
static bool read_container_status(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_OBJECT("state", struct container_status, started_unix_ms, state_fields),
                SKIM_OBJECT("allocatedResources", struct container_status, allocation.allocated,
                            requests_fields),
                SKIM_OBJECT("resources", struct container_status, allocation.actuated,
                            resources_fields),
                {0},
        };
        struct container_statuses *sums = ret;
        struct container_status status = {0};
        const int64_t *started_unix_ms = &status.started_unix_ms;

        if (!skim_fields(skim, fields, &status))
                return false;
        if (*started_unix_ms > 0 &&
            (sums->runs_unix_ms == 0 || *started_unix_ms < sums->runs_unix_ms))
                sums->runs_unix_ms = *started_unix_ms;
        add_allocation(sums, &status.allocation);
        return true;
}

static bool count_element(struct skim *skim, void *ret) {
        ++*(size_t *)ret;
        return skim_value(skim);
}

static bool read_claimed(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_TEXT("name", struct claimed, name),
                SKIM_VALUE("quantity", struct claimed, quantity, read_pod_amount),
                SKIM_VALUE("perPod", struct claimed, per_pod, read_pod_amount),
                SKIM_VALUE("perContainer", struct claimed, per_container, read_pod_amount),
                {0},
        };
        static const char *const names[] = {[ESTIMATE_CPU] = "cpu",
                                            [ESTIMATE_MEM] = "memory",
                                            [IDLE_MILLI_CPU] = KUBE_IDLE_RESOURCE};
        struct claim_sum *sum = ret;
        struct claimed claimed = {0};

        if (!skim_fields(skim, fields, &claimed))
                return false;
        for (int r = 0; r < REQUESTED_COUNT; r++) {
                if (!skim_is(&claimed.name, names[r]))
                        continue;
                sum->once.of[r] += claimed.quantity.value + claimed.per_pod.value;
                sum->per_container.of[r] += claimed.per_container.value;
        }
        return true;
}

static bool read_claim(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                SKIM_LIST("containers", struct claim, containers, count_element),
                SKIM_LIST("mapping", struct claim, mapping, read_claimed),
                SKIM_LIST("overhead", struct claim, overhead, read_claimed),
                {0},
        };
        struct request_sum *sum = ret;
        struct claim claim = {0};

        if (!skim_fields(skim, fields, &claim))
                return false;
        for (int r = 0; r < REQUESTED_COUNT; r++) {
                sum->of[r] += claim.mapping.once.of[r] + claim.overhead.once.of[r];
                if (claim.containers > 0) /* else 0 times infinity */
                        sum->of[r] += (double)claim.containers * claim.overhead.per_container.of[r];
        }
        return true;
}

static const struct skim_field status_fields[] = {
        SKIM_TEXT("phase", struct status, phase),
        SKIM_TEXT("qosClass", struct status, qos_class),
        SKIM_LIST("conditions", struct status, conditions, read_condition),
        SKIM_LIST("containerStatuses", struct status, containers, read_container_status),
        SKIM_OBJECT("allocatedResources", struct status, allocation.allocated, requests_fields),
        SKIM_OBJECT("resources", struct status, allocation.actuated, resources_fields),
        SKIM_LIST("nodeAllocatableResourceClaimStatuses", struct status, claimed, read_claim),
        {0},
};

/* The pod */

static const struct skim_field pod_fields[] = {
        SKIM_OBJECT("metadata", struct pod, metadata, metadata_fields),
        SKIM_OBJECT("spec", struct pod, spec, spec_fields),
        SKIM_OBJECT("status", struct pod, status, status_fields),
        {0},
};

/* During a resize, the larger of the desired and the allocated request. */
static double resized(const struct status *status, double desired, double allocated) {
        return status->conditions.is_resize_infeasible ? allocated : fmax(desired, allocated);
}

static double sum_of_containers(const struct pod *pod, int r) {
        const struct spec *spec = &pod->spec;
        const struct container_statuses *statuses = &pod->status.containers;
        double app = spec->containers.all.of[r];

        if (statuses->allocated_count > 0 &&
            statuses->allocated_count == spec->containers.requesting)
                app = resized(&pod->status, app,
                              fmax(statuses->allocated.of[r], statuses->actuated.of[r]));
        return fmax(app + spec->init.sidecars.of[r], spec->init.starting.of[r]) +
               pod->status.claimed.of[r];
}

static double own_request(const struct pod *pod, int r) {
        const struct allocation *allocation = &pod->status.allocation;
        double own = pod->spec.own.of[r].value;

        if (!allocation->actuated.of[r].is_set)
                return own;
        return resized(&pod->status, own,
                       fmax(allocation->allocated.of[r].value, allocation->actuated.of[r].value));
}

static double total_of(const struct pod *pod, int r, double most) {
        double sum = pod->spec.own.of[r].is_set ? own_request(pod, r) : sum_of_containers(pod, r);

        return fmin(sum + pod->spec.overhead.of[r].value, most);
}

static uint64_t hash_id(const struct skim_string *text) {
        if (text->len == 0)
                return 0;
        uint64_t hash = strmap_hash(text->text, text->len);
        return hash + (hash == 0);
}

/* Objects with the same name in different namespaces are different objects. */
static uint64_t hash_in(const struct skim_string *namespace, const struct skim_string *name) {
        uint64_t hash = hash_id(name);

        return hash == 0 ? 0 : hash ^ (hash_id(namespace) << 1);
}

static uint64_t hash_set(const struct pod *pod) {
        const struct owner *owner = &pod->metadata.owners.first;
        const struct spread *spread = &pod->spec.spread;
        bool is_set = skim_is(&owner->kind, "ReplicaSet") || skim_is(&owner->kind, "StatefulSet");

        return is_set && !spread->is_soft && !spread->is_hard
                       ? hash_in(&pod->metadata.namespace, &owner->name)
                       : 0;
}

bool pod_facts_take(struct pod_facts *facts, struct skim *skim) {
        struct pod pod = {0};

        if (!skim_fields(skim, pod_fields, &pod))
                return false;
        const struct affinity *affinity = &pod.spec.affinity;
        const struct labels *labels = &pod.metadata.labels;
        const struct owner *owner = &pod.metadata.owners.first;
        facts->id = hash_id(&pod.metadata.uid);
        facts->group_id = hash_in(&pod.metadata.namespace, &pod.spec.group);
        facts->set_id = hash_set(&pod);
        facts->namespace = pod.metadata.namespace;
        facts->name = pod.metadata.name;
        facts->uid = pod.metadata.uid;
        facts->labels = labels->text;
        facts->priority_class = pod.spec.priority_class;
        facts->priority = pod.spec.priority;
        facts->scheduler = pod.spec.scheduler;
        facts->node = pod.spec.node;
        facts->request.of[ESTIMATE_CPU] = total_of(&pod, ESTIMATE_CPU, POD_FACTS_CORES_MAX);
        facts->request.of[ESTIMATE_MEM] = total_of(&pod, ESTIMATE_MEM, POD_FACTS_BYTES_MAX);
        facts->idle_cores = fmin(total_of(&pod, IDLE_MILLI_CPU, INFINITY) / 1000,
                                 POD_FACTS_CORES_MAX);
        facts->bound_unix_ms = pod.status.conditions.bound_unix_ms
                                       ? pod.status.conditions.bound_unix_ms
                                       : pod.metadata.created_unix_ms;
        facts->runs_unix_ms = pod.status.containers.runs_unix_ms;
        if (facts->runs_unix_ms == 0 && skim_is(&pod.status.phase, "Running"))
                facts->runs_unix_ms = facts->bound_unix_ms > 0 ? facts->bound_unix_ms : LONG_AGO_MS;
        facts->is_finished = skim_is(&pod.status.phase, "Succeeded") ||
                             skim_is(&pod.status.phase, "Failed");
        facts->is_guaranteed = skim_is(&pod.status.qos_class, "Guaranteed");
        facts->is_daemonset = pod.metadata.owners.has_daemonset;
        facts->is_mirror = pod.metadata.is_mirror;
        facts->is_retry = pod.status.conditions.is_retry;
        facts->has_preferences = affinity->node.is_preferring || affinity->pod.is_preferring ||
                                 affinity->anti.is_preferring || pod.spec.spread.is_soft;
        facts->is_restricted = affinity->node.is_requiring || affinity->pod.is_requiring ||
                               affinity->anti.is_requiring || pod.spec.spread.is_hard ||
                               pod.spec.has_selector;
        facts->has_claims = pod.spec.has_volume_claim || pod.spec.has_device_claim;
        pod_workload_name(facts, owner->kind, owner->name,
                          labels->rollouts_pod_template_hash.len > 0
                                  ? &labels->rollouts_pod_template_hash
                                  : &labels->pod_template_hash);
        return true;
}

bool pod_facts_skim(struct pod_facts *facts, const char *text, size_t len) {
        struct skim skim;

        skim_init(&skim, text, len);
        return skim_peek(&skim) == '{' && pod_facts_take(facts, &skim) && skim_at_end(&skim);
}

bool pod_facts_is_placed(const struct pod_facts *facts) {
        static const char usual[] = "default-scheduler";
        bool is_usual = facts->scheduler.len == 0 || skim_is(&facts->scheduler, usual);

        return !facts->is_daemonset && !facts->is_mirror && is_usual;
}
