#include "controller/writing/patch_failures.h"

#include <stdio.h>

#include "codec/json.h"

enum {
        STATUS_UNPROCESSABLE = 422,
        /* So many denials in a row are not about single nodes: RBAC lacks a rule. */
        DENIED_IN_A_ROW = 16,
        DENIED_PAUSE_MS = 5000,
        /* So many failures in a row are reported; fewer may be about one node. */
        TROUBLE_IN_A_ROW = 4,
};

/* Has the node been deleted and created again? */
static bool is_made_anew(const struct kube_answer *answer) {
        json_auto_t *status = NULL;
        const json_t *cause;
        size_t i;

        if (answer->status != STATUS_UNPROCESSABLE ||
            json_parse(answer->body, answer->body_bytes, &status, NULL) < 0)
                return false;
        json_array_foreach (json_at(status, "details", "causes", NULL), i, cause)
                if (json_is_at("metadata.uid", cause, "field", NULL))
                        return true;
        return false;
}

static enum patch_outcome outcome_of(const struct kube_answer *answer) {
        if (answer->outcome == KUBE_OK)
                return PATCH_WRITTEN;
        if (answer->outcome == KUBE_NOT_FOUND || is_made_anew(answer))
                return PATCH_GONE;
        return answer->outcome == KUBE_FORBIDDEN || answer->outcome == KUBE_UNAUTHORIZED
                       ? PATCH_DENIED
                       : PATCH_FAILED;
}

static void note_run(struct patch_failures *failures, enum patch_outcome outcome, const char *rule,
                     const struct kube_answer *answer, int64_t now_mono_ms) {
        bool is_denied = outcome == PATCH_DENIED;

        failures->denials_in_a_row = is_denied ? failures->denials_in_a_row + 1 : 0;
        if (failures->denials_in_a_row >= DENIED_IN_A_ROW)
                failures->paused_until_mono_ms = now_mono_ms + DENIED_PAUSE_MS;
        failures->failures_in_a_row = is_denied || outcome == PATCH_FAILED
                                              ? failures->failures_in_a_row + 1
                                              : 0;
        failures->trouble[0] = '\0';
        if (failures->failures_in_a_row >= TROUBLE_IN_A_ROW)
                (void)snprintf(failures->trouble, sizeof(failures->trouble),
                               "the last %zu patches failed: %s: %.*s%s%s",
                               failures->failures_in_a_row, kube_outcome_name(answer->outcome),
                               (int)sizeof(failures->trouble) - 128, answer->err.msg,
                               is_denied ? "; see the RBAC rule for patching " : "",
                               is_denied ? rule : "");
}

enum patch_outcome patch_failures_note(struct patch_failures *failures, bool *is_failing,
                                       const char *node, const char *rule,
                                       const struct kube_answer *answer, int64_t now_mono_ms) {
        enum patch_outcome outcome = outcome_of(answer);

        note_run(failures, outcome, rule, answer, now_mono_ms);
        if (outcome == PATCH_WRITTEN)
                outage_log_recovered(&failures->outages, is_failing, now_mono_ms, node);
        else if (outcome != PATCH_GONE) /* the watch will show it */
                outage_log_failed(&failures->outages, is_failing, now_mono_ms, node, NULL,
                                  kube_outcome_name(answer->outcome), answer->err.msg);
        return outcome;
}

void patch_failures_forget(struct patch_failures *failures, bool *is_failing) {
        if (!*is_failing)
                return;
        outage_log_gone(&failures->outages, is_failing);
        if (failures->outages.failing > 0)
                return;
        /* With nothing to patch, there may be no success for a long time. */
        failures->failures_in_a_row = 0;
        failures->trouble[0] = '\0';
}
