#include "policy/live/policy_status.h"

#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"

#define CONDITION_TYPE "InForce"

/* A merge patch replaces the whole list, so it must include the conditions of other writers. */
static json_t *conditions_with(const json_t *conditions, json_t *ours) {
        json_t *all = json_array();
        json_t *condition = NULL;
        size_t i;

        json_array_foreach (conditions, i, condition)
                if (!json_is_at(CONDITION_TYPE, condition, "type", NULL))
                        json_array_append(all, condition);
        json_array_append_new(all, ours);
        return all;
}

json_t *policy_status_patch(const json_t *object, const struct policy_status *status,
                            int64_t now_unix_ms) {
        const json_t *conditions = json_at(object, "status", "conditions", NULL);
        const json_t *old = json_find_at(CONDITION_TYPE, conditions, "type", NULL);
        const char *state = status->problem ? "False" : "True";
        const char *reason = status->problem ? "Refused" : "Loaded";
        _cleanup_(freep) char *valid = xasprintf("policy is valid%s%s", status->warning ? ", " : "",
                                                 status->warning ? status->warning : "");
        const char *message = status->problem ? status->problem : valid;
        char now[TIMESTAMP_MAX];
        bool is_same_state = json_is_at(state, old, "status", NULL);

        if (is_same_state && json_is_at(message, old, "message", NULL) &&
            json_is_at(reason, old, "reason", NULL) &&
            json_int_at(-1, object, "status", "observedGeneration", NULL) == status->generation)
                return NULL;

        timestamp_format_s(now_unix_ms, now, sizeof(now));
        const char *since = json_string_at(old, "lastTransitionTime", NULL);
        json_t *condition = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", CONDITION_TYPE,
                                      "status", state, "reason", reason, "message", message,
                                      "lastTransitionTime", is_same_state && since ? since : now,
                                      "observedGeneration", (json_int_t)status->generation);
        return json_pack("{s:{s:s*}, s:{s:I, s:o, s:o*}}", "metadata", "resourceVersion",
                         json_string_at(object, "metadata", "resourceVersion", NULL), "status",
                         "observedGeneration", (json_int_t)status->generation, "conditions",
                         conditions_with(conditions, condition), "metrics",
                         status->problem ? NULL : json_integer((json_int_t)status->metric_count));
}
