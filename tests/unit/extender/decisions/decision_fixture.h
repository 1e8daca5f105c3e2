/* Requests that are judged, and what is kept of them and shown. */
#pragma once

#include "tests/unit/fixture/answer_fixture.h"

#include "extender/decisions/decision_take.h"
#include "tests/unit/fixture/shows.h"

#define READ "2026-07-23T09:46:10Z"

#define POLICY(extender)                                                                           \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"                                                                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}, {name: mem_usage_avg_5m, "  \
        "maxLimitPecent: 0.9}]\n"                                                                  \
        "  priority: [{name: cpu_usage_avg_5m, weight: 2}, {name: mem_usage_avg_5m, weight: 1}]\n" \
        "  extender: {" extender "}\n"

#define POD                                                                                        \
        "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-1\",\"uid\":\"u-1\","                \
        "\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"web\",\"controller\":true}]},"  \
        "\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":"        \
        "\"1Gi\"}}}]}}"

static inline void put_labelled(struct fixture *fixture, const char *name, const char *labels,
                                double cpu, double mem) {
        _cleanup_(freep) char *annotations = xasprintf(
                "cpu_usage_avg_5m=%.5f," READ " mem_usage_avg_5m=%.5f," READ, cpu, mem);

        put_node(fixture->table,
                 &(struct node_words){name, annotations, labels, "cpu=10 memory=100Gi"}, NOW);
}

static inline void put(struct fixture *fixture, const char *name, double cpu, double mem) {
        put_labelled(fixture, name, NULL, cpu, mem);
}

/* As the handlers do. */
static inline void ask_filter(struct fixture *fixture, const char *pod, const char *names) {
        parse(fixture, pod, names);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        answer_shortlist(&fixture->answer, 0);
        assert_true(decision_take_pod(&fixture->request.pod, &fixture->decision.pod));
        decision_take_filter(&fixture->answer, &fixture->decision);
}

static inline void ask_prioritize(struct fixture *fixture, const char *pod, const char *names) {
        parse(fixture, pod, names);
        answer_score(&fixture->answer, fixture->snapshot, &fixture->request, NOW, 0);
        assert_true(reply_prioritize(&fixture->reply, &fixture->answer));
        assert_true(decision_take_pod(&fixture->request.pod, &fixture->decision.pod));
        decision_take_ranking(&fixture->answer, &fixture->decision);
}

/* @max_nodes: 1: as in the list. The page's object, borrowed. */
static inline const json_t *show_some(struct fixture *fixture, size_t max_nodes) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(DECISION_JSON_MAX_BYTES);
        struct error err = ERROR_NULL;

        decision_json(&fixture->decision, max_nodes, &text);
        assert_false(text.overflow);
        json_decref(fixture->json);
        fixture->json = NULL;
        if (json_parse(text.data, text.len, &fixture->json, &err) < 0)
                fail_msg("%s: %s", err.msg, text.data);
        return fixture->json;
}

static inline const json_t *show(struct fixture *fixture) {
        return show_some(fixture, SIZE_MAX);
}
