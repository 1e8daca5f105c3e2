/* Why no extender was asked about a pod. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/explain/explain_place.h"
#include "codec/json.h"

#define UNSCHEDULABLE                                                                              \
        "'status': {'conditions': [{'type': 'PodScheduled', 'status': 'False', 'message': 'a'}]}"

TEST(unasked) {
        static const struct {
                const char *pod, *why;
        } rows[] = {
                {"{'spec': {'nodeName': 'a'}}",
                 "the scheduler has not called the extender for it recently"},
                {"{'spec': {'nodeName': 'a'}}",
                 "was created with spec.nodeName needs no scheduler"},
                {"{'metadata': {'annotations': {'kubernetes.io/config.mirror': 'x'}}, "
                 "'spec': {'nodeName': 'a'}}",
                 "a static pod"},
                {"{'spec': {'schedulingGates': [{'name': 'a.example/b'}]}, " UNSCHEDULABLE "}",
                 "scheduling gates: a.example/b"},
                {"{'spec': {'schedulingGates': [{'name': 'a'}, {'name': 'b'}]}}",
                 "scheduling gates: a, ..."},
                {"{'spec': {'schedulingGates': []}, " UNSCHEDULABLE "}",
                 "no node passed the scheduler's own checks (nodeSelector,"},
                {"{'spec': {}}", "the scheduler default-scheduler has not looked at it yet"},
                {"{'spec': {'schedulerName': 'other'}}", "the scheduler other has not looked"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xstrdup(rows[i].pod);
                json_t *pod = NULL;
                for (char *at = text; *at; at++)
                        *at = *at == '\'' ? '"' : *at;
                assert_int_equal(json_parse(text, strlen(text), &pod, NULL), 0);
                const struct explain_place place = {.full_name = "a/b", .pod = pod};
                _cleanup_(freep) char *why = explain_place_unasked(&place);
                if (!strstr(why, rows[i].why))
                        fail_msg("row %zu: %s", i, why);
                json_decref(pod);
        }
}
