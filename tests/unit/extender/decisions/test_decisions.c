/* Which decisions are kept and found again, against a plain list. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "extender/decisions/decisions.h"
#include "tests/unit/fixture/full_size.h"

/* Of the prioritize call after the last filter call; NULL: none. */
static const struct decision_node *decision_best(const struct decision *decision) {
        return decision->is_ranked && decision->ranking.node_count > 0 ? decision->ranking.nodes
                                                                       : NULL;
}

static struct decision_pod pod_of(unsigned id, const char *name) {
        struct decision_pod pod = {.id = id, .namespace_len = 1};

        (void)snprintf(pod.full_name, sizeof(pod.full_name), "d/%s", name);
        (void)snprintf(pod.uid, sizeof(pod.uid), "u-%u", id);
        return pod;
}

/* @at_unix_ms is also what an answer is known by. */
static void filter(struct decisions *decisions, unsigned id, const char *name, int64_t at_unix_ms) {
        const struct decision_pod pod = pod_of(id, name);
        struct decision *decision = decisions_open(decisions, &pod);

        if (!decision)
                return;
        decision->filter = (struct decision_filter){
                .call = {.at_unix_ms = at_unix_ms, .candidates = 10, .duplicates = 1},
                .rejected = 2,
                .left_out = 3};
        decision->filter_count++;
        decision->is_ranked = false;
        decisions_close(decisions);
}

static void rank(struct decisions *decisions, unsigned id, const char *name, int64_t at_unix_ms) {
        const struct decision_pod pod = pod_of(id, name);
        struct decision *decision = decisions_open(decisions, &pod);

        if (!decision)
                return;
        decision->ranking = (struct decision_ranking){
                .call.at_unix_ms = at_unix_ms,
                .node_count = 1,
                .nodes = {{.name = {.at = 2, .len = 3}, .score = 8}},
                .texts = {.used = 5, .bytes = "..abc"},
        };
        decision->ranking_count++;
        decision->is_ranked = true;
        decisions_close(decisions);
}

/* What a watch of pods reports. */
static void confirm(struct decisions *decisions, unsigned id, const char *node,
                    int64_t bound_unix_ms) {
        decisions_confirm(decisions, &(struct pod_facts){
                                             .id = id,
                                             .node = {.text = node, .len = strlen(node)},
                                             .bound_unix_ms = bound_unix_ms,
                                     });
}

/* Return: how many there are, the newest first */
static size_t list(struct decisions *decisions, struct decision ret[static DECISIONS_MAX]) {
        uint16_t slots[DECISIONS_MAX];
        size_t count = decisions_list(decisions, slots);

        for (size_t i = 0; i < count; i++)
                decisions_at(decisions, slots[i], &ret[i]);
        return count;
}

static void assert_best(const struct decision *decision, int score, const char *name) {
        const struct decision_node *best = decision_best(decision);

        if (!best) {
                fail();
                return;
        }
        assert_int_equal(best->score, score);
        assert_int_equal(best->name.len, strlen(name));
        assert_memory_equal(decision->ranking.texts.bytes + best->name.at, name, best->name.len);
}

TEST(retries) {
        _cleanup_(decisions_freep) struct decisions *decisions = decisions_new();
        _cleanup_(freep) struct decision *lines = xcalloc(DECISIONS_MAX, sizeof(*lines));
        struct decision decision;

        assert_int_equal(list(decisions, lines), 0);
        assert_false(decisions_get(decisions, "d/web", NULL, &decision));

        filter(decisions, 7, "web", 100);
        assert_int_equal(list(decisions, lines), 1);
        assert_string_equal(lines[0].pod.full_name, "d/web");
        assert_string_equal(lines[0].pod.uid, "u-7");
        assert_int_equal(decision_at_unix_ms(&lines[0]), 100);
        assert_int_equal(lines[0].filter.call.candidates, 10);
        assert_int_equal(decision_passed(&lines[0].filter), 7);
        assert_int_equal(lines[0].filter.rejected, 2);
        assert_int_equal(lines[0].filter.left_out, 3);
        assert_null(decision_best(&lines[0]));

        rank(decisions, 7, "web", 100);
        assert_int_equal(list(decisions, lines), 1);
        assert_best(&lines[0], 8, "abc");

        /* The best node of an attempt that is over is not shown as that of the next one, even if
         * the clock was set back. */
        filter(decisions, 7, "web", 50);
        assert_int_equal(list(decisions, lines), 1);
        assert_int_equal(decision_at_unix_ms(&lines[0]), 50);
        assert_null(decision_best(&lines[0]));
        rank(decisions, 7, "web", 40);
        assert_int_equal(list(decisions, lines), 1);
        assert_best(&lines[0], 8, "abc");
        filter(decisions, 7, "web", 200);
        assert_int_equal(list(decisions, lines), 1);
        assert_null(decision_best(&lines[0]));
        assert_int_equal(lines[0].filter_count, 3);
        assert_int_equal(lines[0].ranking_count, 2);
        assert_true(decisions_get(decisions, "d/web", NULL, &decision));
        assert_int_equal(decision.filter.call.at_unix_ms, 200);
        assert_int_equal(decision.ranking.call.at_unix_ms, 40);

        /* A pod without a filter call: filterVerb is not set. */
        rank(decisions, 8, "other", 300);
        assert_int_equal(list(decisions, lines), 2);
        assert_int_equal(lines[0].filter_count, 0);
        assert_best(&lines[0], 8, "abc");
}

/* Without client certificates, anybody who reaches the port can ask about any pod. */
TEST(strangers) {
        _cleanup_(decisions_freep) struct decisions *decisions = decisions_new();
        struct decision decision;

        confirm(decisions, 7, "abc", 100);
        filter(decisions, 7, "web", 100);
        rank(decisions, 7, "web", 101);
        assert_true(decisions_get(decisions, "d/web", NULL, &decision));
        assert_int_equal(decision.confirmed_unix_ms, 0);

        /* The name of the pod, with another uid. */
        rank(decisions, 8, "web", 102);
        confirm(decisions, 7, "abc", 200);
        rank(decisions, 9, "web", 201);
        assert_true(decisions_get(decisions, "d/web", NULL, &decision));
        assert_int_equal(decision.pod.id, 7);
        assert_int_equal(decision.confirmed_unix_ms, 200);

        assert_true(decisions_get(decisions, "d/web", "u-8", &decision));
        assert_int_equal(decision.pod.id, 8);
        assert_true(decisions_get(decisions, "d/web", "u-3", &decision));
        assert_int_equal(decision.pod.id, 7);

        /* Its uid, once it is bound. */
        filter(decisions, 7, "web", 300);
        rank(decisions, 7, "web", 300);
        confirm(decisions, 7, "other", 300);
        assert_true(decisions_get(decisions, "d/web", NULL, &decision));
        assert_int_equal(decision.filter.call.at_unix_ms, 100);
        assert_int_equal(decision.ranking.call.at_unix_ms, 101);
        assert_int_equal(decision.confirmed_unix_ms, 200);

        /* More pods than there is room for. */
        for (unsigned i = 0; i < 2 * DECISIONS_MAX; i++)
                filter(decisions, 100 + i, "x", 400);
        assert_true(decisions_get(decisions, "d/web", NULL, &decision));
        assert_int_equal(decision.pod.id, 7);
}

/* Bindings that do not confirm the answers. */
TEST(other_bindings) {
        static const struct {
                const char *node;
                int64_t bound_unix_ms;
                bool is_whole; /* all candidates are kept */
                bool is_confirmed;
        } cases[] = {
                {"abc", 99000, true, false}, /* before the answer */
                {"abc", 99500, true, true},  /* times in lists are in seconds */
                {"abc", 100000, true, true},   {"abd", 100000, true, false},
                {"ab", 100000, true, false},   {"abd", 100000, false, true},
                {"hot", 100000, false, false}, /* rejected */
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(decisions_freep) struct decisions *decisions = decisions_new();
                const struct decision_pod pod = pod_of(7, "web");
                struct decision *decision = decisions_open(decisions, &pod);
                struct decision after;

                decision->filter = (struct decision_filter){
                        .rejection_count = 1,
                        .rejections = {{.node = {.len = 3}}},
                        .texts = {.used = 3, .bytes = "hot"},
                };
                decision->ranking = (struct decision_ranking){
                        .call = {.at_unix_ms = 100000,
                                 .candidates = cases[i].is_whole ? 2 : 3,
                                 .duplicates = 1},
                        .node_count = 1,
                        .nodes = {{.name = {.len = 3}}},
                        .texts = {.used = 3, .bytes = "abc"},
                };
                decision->filter_count = decision->is_ranked = 1;
                decisions_close(decisions);
                confirm(decisions, 7, cases[i].node, cases[i].bound_unix_ms);
                assert_true(decisions_get(decisions, "d/web", NULL, &after));
                assert_int_equal(after.confirmed_unix_ms != 0, cases[i].is_confirmed);
        }
}

/* ---- The plain list: the newest last. */

enum { MODEL_IDS = 2000, MODEL_NAMES = 1300 };

struct model_pod {
        unsigned id;
        uint32_t filters, rankings;
        int64_t filtered, ranked, confirmed;
};

struct model {
        struct model_pod pods[DECISIONS_MAX];
        size_t count;
};

static const char *name_of(unsigned id) {
        static char name[16];

        (void)snprintf(name, sizeof(name), "p-%u", id % MODEL_NAMES);
        return name;
}

static size_t model_index(const struct model *model, unsigned id) {
        size_t i = 0;

        while (i < model->count && model->pods[i].id != id)
                i++;
        return i;
}

/* Return: which one makes room */
static size_t model_oldest(const struct model *model) {
        size_t unverified = 0, i = 0;

        for (size_t pod = 0; pod < model->count; pod++)
                unverified += model->pods[pod].confirmed == 0;
        while ((unverified >= DECISIONS_MAX / 2) == (model->pods[i].confirmed != 0))
                i++;
        return i;
}

static struct model_pod *model_touch(struct model *model, unsigned id) {
        struct model_pod pod = {.id = id};
        size_t i = model_index(model, id);

        if (i < model->count)
                pod = model->pods[i];
        else
                i = model->count < DECISIONS_MAX ? model->count++ : model_oldest(model);
        memmove(&model->pods[i], &model->pods[i + 1],
                (model->count - i - 1) * sizeof(*model->pods));
        model->pods[model->count - 1] = pod;
        return &model->pods[model->count - 1];
}

static const struct model_pod *model_find(const struct model *model, unsigned name) {
        const struct model_pod *found = NULL;

        for (size_t i = model->count; i-- > 0;)
                if (model->pods[i].id % MODEL_NAMES == name &&
                    (!found || (found->confirmed == 0 && model->pods[i].confirmed != 0)))
                        found = &model->pods[i];
        return found;
}

static void compare(struct decisions *decisions, const struct model *model,
                    struct decision *lines) {
        assert_int_equal(list(decisions, lines), model->count);
        for (size_t i = 0; i < model->count; i++) {
                const struct model_pod *pod = &model->pods[model->count - 1 - i];
                int64_t at = pod->filtered > pod->ranked ? pod->filtered : pod->ranked;
                assert_int_equal(lines[i].pod.id, pod->id);
                assert_int_equal(lines[i].confirmed_unix_ms, pod->confirmed);
                assert_int_equal(decision_at_unix_ms(&lines[i]), at);
                assert_int_equal(lines[i].filter_count, pod->filters);
                assert_int_equal(lines[i].ranking_count, pod->rankings);
                assert_int_equal(decision_best(&lines[i]) != NULL,
                                 pod->rankings > 0 && pod->ranked >= pod->filtered);
        }
}

static void compare_one(struct decisions *decisions, const struct model *model, unsigned name) {
        const struct model_pod *pod = model_find(model, name);
        struct decision decision;
        char full_name[20];

        (void)snprintf(full_name, sizeof(full_name), "d/%s", name_of(name));
        assert_int_equal(decisions_get(decisions, full_name, NULL, &decision), pod != NULL);
        if (!pod)
                return;
        assert_int_equal(decision.pod.id, pod->id);
        assert_int_equal(decision.filter.call.at_unix_ms, pod->filtered);
        assert_int_equal(decision.ranking.call.at_unix_ms, pod->ranked);
}

TEST(against_a_list) {
        _cleanup_(decisions_freep) struct decisions *decisions = decisions_new();
        _cleanup_(freep) struct decision *lines = xcalloc(DECISIONS_MAX, sizeof(*lines));
        _cleanup_(freep) struct model *model = xcalloc(1, sizeof(*model));
        int steps = full_size(200000, 20000);

        srand(14);
        for (int64_t at = 1; at <= steps; at++) {
                /* Some come often, most seldom. */
                unsigned range = rand() % 4 == 0 ? 20 : MODEL_IDS;
                unsigned id = 1 + (unsigned)rand() % range;
                size_t known = model_index(model, id);
                bool is_final = known < model->count && model->pods[known].confirmed != 0;
                int what = rand() % 5;
                if (what == 0)
                        confirm(decisions, id, "abc", at);
                else if (what % 2)
                        filter(decisions, id, name_of(id), at);
                else
                        rank(decisions, id, name_of(id), at);
                if (is_final || (what == 0 && known == model->count))
                        continue;
                struct model_pod *pod = model_touch(model, id);
                if (what == 0) {
                        pod->confirmed = at;
                } else if (what % 2) {
                        pod->filters++;
                        pod->filtered = at;
                } else {
                        pod->rankings++;
                        pod->ranked = at;
                }
                compare_one(decisions, model, (unsigned)rand() % MODEL_NAMES);
                if (at % 997 == 0 || at == steps)
                        compare(decisions, model, lines);
        }
}
