/* Where a pod is, what it prefers by admission, and why no extender was asked about it. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/explain/explain_place.h"
#include "codec/json.h"

#define UNSCHEDULABLE                                                                              \
        "'status': {'conditions': [{'type': 'PodScheduled', 'status': 'False', 'message': 'a'}]}"

#define NOTE "'metadata': {'annotations': {'plimsoll.io/preferred-nodes': "
#define TERM(NODE, WEIGHT)                                                                         \
        "{'weight': " WEIGHT ", 'preference': {'matchFields': [{'key': 'metadata.name', "          \
        "'operator': 'In', 'values': ['" NODE "']}]}}"
#define OWN                                                                                        \
        "{'weight': 9, 'preference': {'matchExpressions': "                                        \
        "[{'key': 'disk', 'operator': 'Exists'}]}}"
#define SPEC(NODE, TERMS)                                                                          \
        "'spec': {'nodeName': '" NODE "', 'affinity': {'nodeAffinity': "                           \
        "{'preferredDuringSchedulingIgnoredDuringExecution': [" TERMS "]}}}"
#define THREE OWN ", " TERM("a", "100") ", " TERM("b", "90") ", " TERM("c", "1")

/* A pod with ' for ". */
static json_t *parse_pod(const char *quoted) {
        _cleanup_(freep) char *text = xstrdup(quoted);
        json_t *pod = NULL;

        for (char *at = text; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        assert_int_equal(json_parse(text, strlen(text), &pod, NULL), 0);
        return pod;
}

TEST(preferred) {
        static const struct {
                const char *pod, *said;
        } rows[] = {
                {"{" NOTE "'0.5,2026-07-23T11:33:09Z'}}, " SPEC("b", THREE) "}",
                 "\nprefers 3 nodes, by the list of 2026-07-23T11:33:09Z for pods of up to 0.5 "
                 "CPUs\n"
                 "its node is number 2 of them, with weight 90\n"},
                {"{" NOTE "'largest,t'}}, " SPEC("a", TERM("a", "100")) "}",
                 "\nprefers 1 node, by the list of t for the largest pods\n"
                 "its node is number 1 of them, with weight 100\n"},
                {"{" NOTE "'1,t'}}, " SPEC("z", THREE) "}", "\nits node is none of them\n"},
                {"{" NOTE "'1,t'}}, " SPEC("", THREE) "}", "for pods of up to 1 CPUs\n"},
                /* Of somebody who may write anything. */
                {"{" NOTE "'\\u001b'}}, " SPEC("a", "") "}",
                 "\nprefers 0 nodes, by the list of  for pods of up to ? CPUs\n"},
                {"{" NOTE "7}}, " SPEC("a", THREE) "}", "on a, phase unknown\n"},
                {"{" SPEC("a", THREE) "}", "on a, phase unknown\n"},
        };
        const struct style style = {.bold = "", .yellow = "", .off = ""};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct explain_place place = {.full_name = "s/p",
                                                    .pod = parse_pod(rows[i].pod)};
                char *said = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&said, &len);
                explain_place_print(&place, &style, out);
                assert_int_equal(fclose(out), 0);
                if (len < strlen(rows[i].said) ||
                    strcmp(said + len - strlen(rows[i].said), rows[i].said) != 0)
                        fail_msg("row %zu: %s", i, said);
                free(said);
                json_decref(place.pod);
        }
}

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
                {"{" NOTE "'1,t'}}, " SPEC("a", "") "}", "no extender was called for it"},
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
                const struct explain_place place = {.full_name = "a/b",
                                                    .pod = parse_pod(rows[i].pod)};
                _cleanup_(freep) char *why = explain_place_unasked(&place);
                if (!strstr(why, rows[i].why))
                        fail_msg("row %zu: %s", i, why);
                json_decref(place.pod);
        }
}
