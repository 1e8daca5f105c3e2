#include "cli/top/top_status.h"

#include <errno.h>

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"

static double number_of(const json_t *object, const char *key) {
        return json_number_value(json_at(object, key, NULL));
}

/* ---- The policy. */

/* @limits: in the order of @metrics */
static json_t *limits_by_name(const json_t *metrics, const json_t *limits) {
        json_t *named = json_object(), *limit;
        size_t i;

        json_array_foreach (limits, i, limit) {
                const char *name = json_string_at(json_array_get(metrics, i), "name", NULL);
                if (name && json_is_number(limit))
                        json_object_set(named, name, limit);
        }
        return named;
}

static json_t *policy_of(const json_t *policy) {
        const json_t *metrics = json_at(policy, "metrics", NULL), *metric, *pool;
        json_t *named = json_array(), *pools = json_array(), *first = json_array();
        size_t i;

        json_array_foreach (metrics, i, metric) {
                bool is_used = number_of(metric, "limit") > 0 || number_of(metric, "weight") > 0;
                json_array_append_new(named, json_pack("{s:O?, s:b, s:O*}", "metric",
                                                       json_at(metric, "name", NULL), "used",
                                                       is_used, "windowSeconds",
                                                       json_at(metric, "windowSeconds", NULL)));
                json_array_append_new(first, json_real(number_of(metric, "limit")));
        }
        json_array_append_new(pools, json_pack("{s:o}", "limits", limits_by_name(metrics, first)));
        json_decref(first);
        json_array_foreach (json_at(policy, "pools", NULL), i, pool)
                json_array_append_new(
                        pools, json_pack("{s:o}", "limits",
                                         limits_by_name(metrics, json_at(pool, "limits", NULL))));
        return json_pack("{s:o, s:o}", "metrics", named, "pools", pools);
}

/* ---- Nodes. */

static json_t *readings_of(const json_t *node, const json_t *metrics) {
        json_t *readings = json_object();
        const json_t *metric;
        size_t i;

        json_array_foreach (metrics, i, metric) {
                const char *name = json_string_at(metric, "metric", NULL);
                json_t *value = json_array_get(json_at(node, "usage", NULL), i);
                bool is_known = json_is_number(value);
                if (name)
                        json_object_set_new(readings, name,
                                            json_pack("{s:s, s:O?, s:O*, s:O*}", "state",
                                                      is_known ? "usable" : "missing", "value",
                                                      value, "ageSeconds",
                                                      json_at(node, "ageSeconds", NULL), "used",
                                                      json_at(metric, "used", NULL)));
        }
        return readings;
}

static json_t *node_of(json_t *node, const json_t *metrics, bool is_all_over) {
        bool is_closed = json_is_at("closed", node, "verdict", NULL);
        bool is_unknown = json_is_at("unknown", node, "verdict", NULL);
        json_t *reason = is_unknown ? NULL : json_at(node, "reason", NULL);
        bool is_rejected = json_is_at("rejected", node, "verdict", NULL);

        return json_pack("{s:O?, s:O?, s:O?, s:O?, s:b, s:O*, s:O*, s:O*, s:o, s:O}", "node",
                         json_at(node, "name", NULL), "closedBy", is_closed ? reason : NULL, "over",
                         is_closed ? NULL : reason, "rejectedBy", is_rejected ? reason : NULL,
                         "last", !is_all_over, "pool", json_at(node, "pool", NULL), "hotValue",
                         json_at(node, "hot", NULL), "taintLevel",
                         json_at(node, "taintLevel", NULL), "metrics", readings_of(node, metrics),
                         "said", node);
}

json_t *top_status_page(json_t *status) {
        json_t *policy = policy_of(json_at(status, "policy", NULL)), *nodes = json_array(), *node;
        size_t i;

        json_array_foreach (json_at(status, "nodes", NULL), i, node)
                json_array_append_new(nodes,
                                      node_of(node, json_at(policy, "metrics", NULL),
                                              json_is_true(json_at(status, "isAllOver", NULL))));
        return json_pack("{s:o, s:o, s:O}", "policy", policy, "nodes", nodes, "said", status);
}

int top_status_ask(struct cluster *cluster, const char *why, json_t **ret, char **ret_from,
                   struct error *err) {
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_CONTROLLER, "status.json"};

        json_auto_t *status = cluster_question_next(&question);
        if (!status)
                return error_set(err, ENODATA, "%s; no controller answers: %s", why,
                                 question.why_not);
        if (!json_is_array(json_at(status, "nodes", NULL)) ||
            !json_is_object(json_at(status, "policy", NULL)))
                return error_set(err, ENODATA,
                                 "%s; the status page of %.253s has no nodes or no "
                                 "policy",
                                 why, question.from);
        const char *at = json_string_at(status, "at", NULL);
        *ret_from = xasprintf("%.253s at %.40s, without scores, since %s", question.from,
                              at ? at : "an unknown time", why);
        *ret = top_status_page(status);
        return 0;
}
