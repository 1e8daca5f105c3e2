#include "cli/explain/explain_place.h"

#include "base/mem.h"
#include "codec/json.h"

enum { NAME_MAX_COLUMNS = 317, MESSAGE_MAX_COLUMNS = 4096 };

const char *explain_place_node(const struct explain_place *place) {
        const char *node = json_string_at(place->pod, "spec", "nodeName", NULL);

        return node && node[0] ? node : NULL;
}

static json_t *scheduled_condition(const struct explain_place *place) {
        return json_find_at("PodScheduled", json_at(place->pod, "status", "conditions", NULL),
                            "type", NULL);
}

void explain_place_print(const struct explain_place *place, const struct style *style, FILE *out) {
        const char *node = explain_place_node(place);
        const char *phase = json_string_at(place->pod, "status", "phase", NULL);
        const char *message = json_string_at(scheduled_condition(place), "message", NULL);

        (void)fputs(style->bold, out);
        (void)style_text(place->full_name, NAME_MAX_COLUMNS, out);
        (void)fprintf(out, "%s: ", style->off);
        if (!place->pod) {
                (void)fputs("its node is unknown: ", out);
                (void)style_text(place->why_not.msg, MESSAGE_MAX_COLUMNS, out);
        } else if (node) {
                (void)fputs("on ", out);
                (void)style_text(node, NAME_MAX_COLUMNS, out);
                (void)fputs(", ", out);
                (void)style_text(phase ? phase : "phase unknown", NAME_MAX_COLUMNS, out);
        } else {
                (void)fprintf(out, "%spending%s: ", style->yellow, style->off);
                (void)style_text(message ? message : "the scheduler gives no reason",
                                 MESSAGE_MAX_COLUMNS, out);
        }
        (void)fputc('\n', out);
}

char *explain_place_unasked(const struct explain_place *place) {
        const json_t *gates = json_at(place->pod, "spec", "schedulingGates", NULL);
        const char *gate = json_string_at(json_array_get(gates, 0), "name", NULL);
        const char *scheduler = json_string_at(place->pod, "spec", "schedulerName", NULL);

        if (json_at(place->pod, "metadata", "annotations", "kubernetes.io/config.mirror", NULL))
                return xstrdup("it is a static pod: its kubelet runs it without a scheduler");
        if (explain_place_node(place))
                return xstrdup("the scheduler has not called the extender for it recently: each "
                               "extender keeps the last 1,024 pods since its start; a pod that "
                               "was created with spec.nodeName needs no scheduler");
        if (gate)
                return xasprintf("no scheduler looks at it while it has scheduling gates: %.63s%s",
                                 gate, json_array_size(gates) > 1 ? ", ..." : "");
        if (json_is_at("False", scheduled_condition(place), "status", NULL))
                return xstrdup("no node passed the scheduler's own checks (nodeSelector, affinity, "
                               "taints, requests), see above");
        return xasprintf("the scheduler %.63s has not looked at it yet",
                         scheduler ? scheduler : "default-scheduler");
}

json_t *explain_place_json(const struct explain_place *place) {
        return json_pack("{s:s, s:s?, s:s?, s:O?}", "pod", place->full_name, "phase",
                         json_string_at(place->pod, "status", "phase", NULL), "node",
                         explain_place_node(place), "condition", scheduled_condition(place));
}
