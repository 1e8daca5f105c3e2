#include "cli/doctor/doctor_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_api.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "policy/annotation.h"

enum {
        NAME_MAX_BYTES = 64,
        ZONE_STEP_MS = 1800000, /* time zones differ by half hours */
        ZONE_SLACK_MS = 300000, /* the usual age of a reading */
        ZONE_MAX_MS = 14 * 3600000,
};

/* Memory is never above 1, and the load per CPU rarely far above. In percent, everything is. */
#define LARGE_RATIO 1.5

struct listing {
        const struct doctor_question *question;
        struct doctor_nodes *nodes;
        struct strmap followed; /* names of the nodes that match the selector */
        bool is_followed;       /* by the controller: the current node */
};

/* The properties of one node. NULL: it does not have it; otherwise a detail, "": none */
typedef const char *properties[DOCTOR_SET_COUNT];

static char *beginning(const char *text) {
        return xmemdup0(text, size_min(strlen(text), NAME_MAX_BYTES));
}

void doctor_set_add(struct doctor_set *set, const char *name, const char *detail) {
        if (set->count < DOCTOR_EXAMPLES)
                set->names[set->count] = beginning(name);
        if (set->count == 0 && *detail)
                set->detail = beginning(detail);
        set->count++;
}

void doctor_set_done(struct doctor_set *set) {
        for (size_t i = 0; i < DOCTOR_EXAMPLES; i++)
                free(set->names[i]);
        free(set->detail);
        *set = (struct doctor_set){0};
}

void doctor_nodes_done(struct doctor_nodes *nodes) {
        for (size_t i = 0; i < DOCTOR_SET_COUNT; i++)
                doctor_set_done(&nodes->sets[i]);
        node_table_free(nodes->table);
        *nodes = (struct doctor_nodes){0};
}

/* Is the metric the usage of a built-in resource, as a share of its capacity? */
static bool is_share(const struct policy_metric *metric) {
        return metric->is_query && metric->query.resource < METRIC_RESOURCE_COUNT;
}

/* A reading that is ahead by half hours, minus its usual age, was written in another time zone. One
 * that is behind may just be old. */
static bool is_of_other_zone(int64_t age_ms) {
        int64_t ahead_ms = -age_ms;

        return ahead_ms >= ZONE_STEP_MS - ZONE_SLACK_MS && ahead_ms <= ZONE_MAX_MS &&
               (ZONE_STEP_MS - ahead_ms % ZONE_STEP_MS) % ZONE_STEP_MS <= ZONE_SLACK_MS;
}

static void look_at_readings(struct listing *listing, size_t row, properties is) {
        struct doctor_nodes *nodes = listing->nodes;
        size_t written = 0, found = 0;

        for (size_t i = 0; i < listing->question->policy->metric_count; i++) {
                const struct policy_metric *metric = &listing->question->policy->metrics[i];
                struct reading reading;
                if (metric->period_ms == 0)
                        continue;
                written++;
                node_table_reading(nodes->table, row, i, listing->question->now_unix_ms, &reading);
                int64_t age_ms = listing->question->now_unix_ms - reading.at_unix_ms;
                bool is_needed = listing->is_followed &&
                                 policy_pool_uses(listing->question->policy,
                                                  node_table_pool(nodes->table, row), i);
                found += reading.state != READING_MISSING;
                nodes->present[i] += reading.state != READING_MISSING;
                nodes->needed[i] += is_needed;
                if (is_needed && reading.state == READING_EXPIRED)
                        is[DOCTOR_STALE] = metric->name;
                if (reading.state == READING_MALFORMED)
                        is[DOCTOR_MALFORMED] = metric->name;
                if (reading.state == READING_MALFORMED || reading.state == READING_MISSING)
                        continue;
                if (is_share(metric) && reading.value > LARGE_RATIO)
                        is[DOCTOR_LARGE] = metric->name;
                if (is_of_other_zone(age_ms))
                        is[DOCTOR_SHIFTED] = metric->name;
                if (age_ms < -ANNOTATION_SKEW_MS)
                        is[DOCTOR_FUTURE] = metric->name;
        }
        if (!listing->is_followed)
                nodes->ignored++;
        else if (written > 0 && found == 0)
                is[DOCTOR_BARE] = "";
        if (is[DOCTOR_SHIFTED])
                is[DOCTOR_FUTURE] = NULL;
}

static bool is_reading_text(const json_t *value, struct annotation *ret) {
        const char *text = json_string_value(value);

        return text && annotation_parse(text, json_string_length(value), NULL, ret, NULL) == 0;
}

static void look_at_keys(struct listing *listing, const json_t *annotations, properties is) {
        const char *prefix = listing->question->options->annotation_prefix, *key;
        int64_t day_ago_unix_ms = listing->question->now_unix_ms - MS_PER_DAY;
        struct annotation annotation;
        json_t *value;

        json_object_foreach (json_iterable(annotations), key, value) {
                const char *bare = basename(key);
                bool is_of_policy = policy_names_metric(listing->question->policy, bare);
                bool is_ours = strncmp(key, prefix, strlen(prefix)) == 0 &&
                               bare == key + strlen(prefix);
                if (!is_reading_text(value, &annotation))
                        continue;
                /* A node with both prefixes has a second installation. */
                if (is_of_policy && !is_ours && is[DOCTOR_BARE])
                        is[DOCTOR_PREFIXED] = key;
                /* The name is one of crane's or ours. Another installation renews its readings, and
                 * the controller removes those of an earlier policy from the nodes it follows. */
                else if (!is_of_policy && !(is_ours && listing->is_followed) &&
                         annotation.at_unix_ms < day_ago_unix_ms &&
                         policy_names_query(listing->question->policy, bare))
                        is[DOCTOR_FOREIGN] = key;
        }
}

/* Other field managers than the controller that own a metric of the policy. */
static void look_at_writers(struct listing *listing, const json_t *node, properties is) {
        const json_t *entries = json_at(node, "metadata", "managedFields", NULL);

        for (size_t i = 0; i < json_array_size(entries); i++) {
                const json_t *entry = json_array_get(entries, i);
                const char *manager = json_string_at(entry, "manager", NULL);
                if (!manager || strcmp(manager, KUBE_FIELD_MANAGER) == 0)
                        continue;
                for (size_t j = 0; j < listing->question->policy->metric_count; j++) {
                        _cleanup_(freep) char *field = xasprintf(
                                "f:%s%s", listing->question->options->annotation_prefix,
                                listing->question->policy->metrics[j].name);
                        if (!is[DOCTOR_SHARED] &&
                            json_at(entry, "fieldsV1", "f:metadata", "f:annotations", field, NULL))
                                is[DOCTOR_SHARED] = manager;
                }
        }
}

/* A node without readings offers nothing. Neither does one whose batch pods request more than is
 * left. */
static void look_at_offer(const struct listing *listing, const char *name, const json_t *node,
                          properties is) {
        const json_t *capacity = json_at(node, "status", "capacity", KUBE_IDLE_RESOURCE, NULL);
        const json_t *offer = json_at(node, "status", "allocatable", KUBE_IDLE_RESOURCE, NULL);

        if (listing->question->policy->idle_line_ratio == 0)
                is[DOCTOR_OFFER_LEFT] = capacity || offer ? "" : NULL;
        else if (capacity || offer)
                is[DOCTOR_OFFERLESS] = json_equal(capacity, offer)
                                               ? NULL
                                               : "capacity and allocatable differ";
        else if (listing->is_followed && !is[DOCTOR_BARE] && !is[DOCTOR_STALE] &&
                 !strmap_get(listing->question->idle_nodes, name, strlen(name)))
                is[DOCTOR_OFFERLESS] = "";
}

const json_t *doctor_condition(const json_t *object, const char *type) {
        const json_t *condition = json_find_at(type, json_at(object, "status", "conditions", NULL),
                                               "type", NULL);

        return json_string_at(condition, "status", NULL) ? condition : NULL;
}

bool doctor_is_true(const json_t *condition) {
        return json_is_at("True", condition, "status", NULL);
}

static void examine_node(void *userdata, const char *text, size_t len) {
        struct listing *listing = userdata;
        struct doctor_nodes *nodes = listing->nodes;
        json_auto_t *node = NULL;
        properties is = {0};

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        const json_t *annotations = json_at(node, "metadata", "annotations", NULL);
        if (!name)
                return;

        (void)node_table_put_object(nodes->table, node, listing->question->now_unix_ms);
        if (node_table_count(nodes->table) != nodes->count + 1)
                return;
        listing->is_followed = !listing->question->selector ||
                               strmap_get(&listing->followed, name, strlen(name));
        look_at_readings(listing, nodes->count++, is);
        look_at_keys(listing, annotations, is);
        look_at_writers(listing, node, is);
        look_at_offer(listing, name, node, is);
        if (json_find_at(listing->question->host, json_at(node, "status", "addresses", NULL),
                         "address", NULL))
                nodes->has_host = true;
        if (json_is_true(json_at(node, "spec", "unschedulable", NULL)))
                is[DOCTOR_CORDONED] = "";
        if (!doctor_is_true(doctor_condition(node, "Ready")))
                is[DOCTOR_NOT_READY] = "";
        for (size_t i = 0; i < DOCTOR_SET_COUNT; i++)
                if (is[i])
                        doctor_set_add(&nodes->sets[i], name, is[i]);
}

/* The nodes that a limit of the policy rejects. */
static size_t count_over(struct node_table *table, int64_t now_unix_ms) {
        size_t over = 0;

        node_table_publish(table, now_unix_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        for (size_t row = 0; row < snapshot->nodes.count; row++)
                over += judge_nodes_verdict_slow(&snapshot->nodes, row, now_unix_ms)
                                .limits.rejected_by >= 0;
        node_snapshot_unref(snapshot);
        return over;
}

static void begin_list(void *userdata) {
        struct listing *listing = userdata;
        struct node_table *table = TAKE_PTR(listing->nodes->table);

        doctor_nodes_done(listing->nodes);
        listing->nodes->table = table;
        /* Drop the nodes of a list that has expired. */
        node_table_list_begins(table);
        node_table_list_ended(table);
}

static void forget_followed(void *userdata) {
        struct listing *listing = userdata;

        strmap_done(&listing->followed);
}

static void take_followed(void *userdata, const char *text, size_t len) {
        struct listing *listing = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        if (name)
                (void)strmap_put(&listing->followed, name, strlen(name), listing);
}

static enum kube_outcome list_followed(struct cluster *cluster, struct listing *listing,
                                       struct error *err) {
        const char *labels = listing->question->selector;
        _cleanup_(freep) char *escaped = labels ? kube_escape(labels) : NULL;
        _cleanup_(freep) char *path = xasprintf(KUBE_NODES "?labelSelector=%s",
                                                escaped ? escaped : "");
        const struct cluster_listing some = {.path = path,
                                             .accept = KUBE_ACCEPT_METADATA_LIST,
                                             .on_begin = forget_followed,
                                             .on_item = take_followed,
                                             .userdata = listing};

        return labels ? cluster_list(cluster, &some, err) : KUBE_OK;
}

enum kube_outcome doctor_nodes_list(struct cluster *cluster, const struct doctor_question *question,
                                    struct doctor_nodes *ret, struct error *err) {
        struct listing listing = {.question = question, .nodes = ret};

        *ret = (struct doctor_nodes){.table = node_table_new(question->options, question->policy,
                                                             question->now_unix_ms)};
        const struct cluster_listing whole = {.path = KUBE_NODES,
                                              .on_begin = begin_list,
                                              .on_item = examine_node,
                                              .userdata = &listing};
        enum kube_outcome outcome = list_followed(cluster, &listing, err);
        if (outcome == KUBE_OK)
                outcome = cluster_list(cluster, &whole, err);
        strmap_done(&listing.followed);
        ret->over = count_over(ret->table, question->now_unix_ms);
        if (outcome != KUBE_OK) /* an incomplete list */
                ret->count = 0;
        return outcome;
}
