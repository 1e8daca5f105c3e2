#include "cli/explain/explain_place.h"

#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/explain/terms.h"
#include "codec/json.h"

/* Of deploy/admission/policy.yaml: "CLASS,TIME", the largest request of the class, in cores, or
 * "largest", and when its list was written. */
#define PREFERRED_NODES "plimsoll.io/preferred-nodes"

const char *explain_place_node(const struct explain_place *place) {
        const char *node = json_string_at(place->pod, "spec", "nodeName", NULL);

        return node && node[0] ? node : NULL;
}

static json_t *scheduled_condition(const struct explain_place *place) {
        return json_find_at("PodScheduled", json_at(place->pod, "status", "conditions", NULL),
                            "type", NULL);
}

/* Return: the name in a preference for one node, borrowed; NULL: it is another preference */
static const char *preferred_node(const json_t *term) {
        const json_t *fields = json_at(term, "preference", "matchFields", NULL);
        const json_t *field = json_array_get(fields, 0), *values = json_at(field, "values", NULL);
        bool is_name = json_is_at("metadata.name", field, "key", NULL) &&
                       json_is_at("In", field, "operator", NULL);

        return is_name && json_array_size(fields) == 1 && json_array_size(values) == 1
                       ? json_string_at(json_array_get(values, 0), NULL)
                       : NULL;
}

/* What the pod got by admission, and the place of its node in it. */
static void print_preferred(const struct explain_place *place, FILE *out) {
        const char *note = json_string_at(place->pod, "metadata", "annotations", PREFERRED_NODES,
                                          NULL);
        const char *node = explain_place_node(place);
        const json_t *term, *its = NULL;
        size_t i, count = 0, rank = 0;

        if (!note)
                return;
        json_array_foreach (json_at(place->pod, "spec", "affinity", "nodeAffinity",
                                    "preferredDuringSchedulingIgnoredDuringExecution", NULL),
                            i, term) {
                const char *name = preferred_node(term);
                if (!name)
                        continue;
                count++;
                if (node && strcmp(name, node) == 0) {
                        its = term;
                        rank = count;
                }
        }
        size_t len = strcspn(note, ",");
        _cleanup_(freep) char *class = xmemdup0(note, len);
        (void)fprintf(out, "prefers %zu node%s, by the list of %s for ", count,
                      number_plural(count), style_plain(note + len + (note[len] == ',')).text);
        if (strcmp(class, "largest") == 0)
                (void)fputs("the largest pods\n", out);
        else
                (void)fprintf(out, "pods of up to %s CPUs\n", style_plain(class).text);
        if (!node || count == 0)
                return;
        if (its)
                (void)fprintf(out, "its node is number %zu of them, with weight %s\n", rank,
                              terms_number(its, "weight").text);
        else
                (void)fputs("its node is none of them\n", out);
}

void explain_place_print(const struct explain_place *place, const struct style *style, FILE *out) {
        const char *node = explain_place_node(place);
        const char *phase = json_string_at(place->pod, "status", "phase", NULL);
        const char *message = json_string_at(scheduled_condition(place), "message", NULL);

        (void)fprintf(out, "%s%s%s: ", style->bold, style_plain(place->full_name).text, style->off);
        if (!place->pod)
                (void)fprintf(out, "its node is unknown: %s\n",
                              style_plain(place->why_not.msg).text);
        else if (node)
                (void)fprintf(out, "on %s, %s\n", style_plain(node).text,
                              style_plain(phase ? phase : "phase unknown").text);
        else
                (void)fprintf(
                        out, "%spending%s: %s\n", style->yellow, style->off,
                        style_plain(message ? message : "the scheduler gives no reason").text);
        print_preferred(place, out);
}

char *explain_place_unasked(const struct explain_place *place) {
        const json_t *gates = json_at(place->pod, "spec", "schedulingGates", NULL);
        const char *gate = json_string_at(json_array_get(gates, 0), "name", NULL);
        const char *scheduler = json_string_at(place->pod, "spec", "schedulerName", NULL);

        if (json_at(place->pod, "metadata", "annotations", "kubernetes.io/config.mirror", NULL))
                return xstrdup("it is a static pod: its kubelet runs it without a scheduler");
        if (explain_place_node(place) &&
            json_at(place->pod, "metadata", "annotations", PREFERRED_NODES, NULL))
                return xstrdup("no extender was called for it: where admission steers pods, its "
                               "preferred nodes are all that the scheduler gets");
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
