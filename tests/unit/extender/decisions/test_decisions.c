/* Which decisions are kept and found again, against a plain list. */
#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "extender/decisions/decisions.h"
#include "tests/unit/fixture/full_size.h"

static struct decision_pod pod_of(unsigned id, const char *name) {
        struct decision_pod pod = {.id = id, .namespace_len = 1};

        (void)snprintf(pod.full_name, sizeof(pod.full_name), "d/%s", name);
        (void)snprintf(pod.uid, sizeof(pod.uid), "u-%u", id);
        return pod;
}

/* @at_unix_ms is also what an answer is known by. */
static void filter(struct decisions *decisions, unsigned id, const char *name, int64_t at_unix_ms) {
        const struct decision_pod pod = pod_of(id, name);

        decisions_put_filter(
                decisions, &pod,
                &(struct decision_filter){
                        .call = {.at_unix_ms = at_unix_ms, .candidates = 10, .duplicates = 1},
                        .rejected = 2,
                        .left_out = 3});
}

static void rank(struct decisions *decisions, unsigned id, const char *name, int64_t at_unix_ms) {
        const struct decision_pod pod = pod_of(id, name);

        decisions_put_ranking(decisions, &pod,
                              &(struct decision_ranking){
                                      .call.at_unix_ms = at_unix_ms,
                                      .node_count = 1,
                                      .nodes = {{.name = {.at = 2, .len = 3}, .score = 8}},
                                      .texts = {.used = 5, .bytes = "..abc"},
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
        assert_false(decisions_get(decisions, "d/web", &decision));

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
        assert_true(decisions_get(decisions, "d/web", &decision));
        assert_int_equal(decision.filter.call.at_unix_ms, 200);
        assert_int_equal(decision.ranking.call.at_unix_ms, 40);

        /* A pod without a filter call: filterVerb is not set. */
        rank(decisions, 8, "other", 300);
        assert_int_equal(list(decisions, lines), 2);
        assert_int_equal(lines[0].filter_count, 0);
        assert_best(&lines[0], 8, "abc");
}

/* ---- The plain list: the newest last. */

enum { MODEL_IDS = 2000, MODEL_NAMES = 1300 };

struct model_pod {
        unsigned id;
        uint32_t filters, rankings;
        int64_t filtered, ranked;
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

static struct model_pod *model_touch(struct model *model, unsigned id) {
        struct model_pod pod = {.id = id};
        size_t i = 0;

        while (i < model->count && model->pods[i].id != id)
                i++;
        if (i < model->count)
                pod = model->pods[i];
        else
                i = model->count < DECISIONS_MAX ? model->count++ : 0;
        memmove(&model->pods[i], &model->pods[i + 1],
                (model->count - i - 1) * sizeof(*model->pods));
        model->pods[model->count - 1] = pod;
        return &model->pods[model->count - 1];
}

static const struct model_pod *model_find(const struct model *model, unsigned name) {
        for (size_t i = model->count; i-- > 0;)
                if (model->pods[i].id % MODEL_NAMES == name)
                        return &model->pods[i];
        return NULL;
}

static void compare(struct decisions *decisions, const struct model *model,
                    struct decision *lines) {
        assert_int_equal(list(decisions, lines), model->count);
        for (size_t i = 0; i < model->count; i++) {
                const struct model_pod *pod = &model->pods[model->count - 1 - i];
                int64_t at = pod->filtered > pod->ranked ? pod->filtered : pod->ranked;
                assert_int_equal(lines[i].pod.id, pod->id);
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
        assert_int_equal(decisions_get(decisions, full_name, &decision), pod != NULL);
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
                struct model_pod *pod = model_touch(model, id);
                if (rand() % 2) {
                        filter(decisions, id, name_of(id), at);
                        pod->filters++;
                        pod->filtered = at;
                } else {
                        rank(decisions, id, name_of(id), at);
                        pod->rankings++;
                        pod->ranked = at;
                }
                compare_one(decisions, model, (unsigned)rand() % MODEL_NAMES);
                if (at % 997 == 0 || at == steps)
                        compare(decisions, model, lines);
        }
}
