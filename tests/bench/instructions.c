/*
 * The work whose instructions instructions.py counts, under valgrind: one stage, a hundred times,
 * on input that is the same in every run.
 *
 *     instructions STAGE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/exposition/node_reading.h"
#include "controller/window/window.h"
#include "extender/answer/request.h"
#include "extender/decisions/decision_take.h"
#include "extender/decisions/decisions.h"
#include "extender/table/node_table.h"
#include "policy/annotation.h"
#include "tests/bench/request_body.h"
#include "tests/crane_policy.h"
#include "tests/put_node.h"

enum { CANDIDATES = 500, TIMES = 100 };

#define NOW_UNIX_MS INT64_C(1784804754000)
#define STAMP "2026-07-23T11:05:54Z"

static struct buf body = {.max_bytes = 1 << 20};
static char *page;
static size_t page_len;
static struct request request;
static struct answer scored, filtered;
static struct decisions *decisions;
static struct node_snapshot *snapshot;
static struct node_wants wants;
static struct node_reading *reading;
static struct window_store *windows;

/* Takes the C library's place, so that the hash maps of every run have the same seed. */
ssize_t getrandom(void *data, size_t bytes, unsigned flags) {
        (void)flags;
        memset(data, 42, bytes);
        return (ssize_t)bytes;
}

/* ---- What a stage needs, which is not counted. */

static void make_request(void) {
        request_put(&body, CANDIDATES, false);
}

static void make_table(void) {
        struct policy *policy = crane_policy();
        struct node_table *table;
        char name[64], value[64];

        policy->scoring = POLICY_SCORING_ESTIMATE;
        table = node_table_new(&(struct node_table_options){.annotation_prefix = ""}, policy,
                               NOW_UNIX_MS);
        for (size_t i = 0; i < CANDIDATES; i++) {
                json_auto_t *annotations = json_object();
                json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", "16", "memory", "64Gi");
                for (size_t m = 0; m < policy->metric_count; m++) {
                        (void)snprintf(value, sizeof(value), "0.%04u," STAMP,
                                       (unsigned)(bench_random() % 7000));
                        (void)json_object_set_new(annotations, policy->metrics[m].name,
                                                  json_string(value));
                }
                request_node_name(i, name);
                put_node_parts(table, name, annotations, NULL, capacity, NOW_UNIX_MS);
        }
        node_table_publish(table, NOW_UNIX_MS);
        snapshot = node_table_acquire(table); /* the table lives as long as the program */
}

static void prepare_skim(void) {
        make_request();
}

static void prepare_judge(void) {
        make_table();
        make_request();
        if (request_parse(&request, body.data, body.len, REQUEST_MAX_NODES, NULL) < 0)
                abort();
}

static void prepare_decision(void) {
        prepare_judge();
        decisions = decisions_new();
        answer_filter(&filtered, snapshot, &request, NOW_UNIX_MS);
        answer_score(&scored, snapshot, &request, NOW_UNIX_MS, 0);
}

static void prepare_exposition(void) {
        bench_read("tests/fuzz/corpus/node_reading/node_exporter-1.5.0", &page, &page_len);
        node_wants_init(&wants,
                        &(struct node_wants_options){.resources = NODE_RESOURCE_BIT(METRIC_CPU) |
                                                                  NODE_RESOURCE_BIT(METRIC_MEM)});
        reading = node_reading_new();
}

static void prepare_window(void) {
        struct policy *policy = crane_policy();
        struct metric_query queries[POLICY_MAX_METRICS];

        for (size_t i = 0; i < policy->metric_count; i++)
                queries[i] = policy->metrics[i].query;
        /* Plan and policy live as long as the program. */
        windows = window_store_new(window_plan_new(queries, policy->metric_count, 15 * MS_PER_S));
}

static void prepare_nothing(void) {
}

/* ---- What is counted. */

static size_t skim(int64_t turn) {
        (void)turn;
        request_reset(&request);
        return request_parse(&request, body.data, body.len, REQUEST_MAX_NODES, NULL) == 0
                       ? request.count
                       : 0;
}

/* A pod's two calls. */
static size_t judge_pod(int64_t turn) {
        int64_t now_unix_ms = NOW_UNIX_MS + turn * 10;

        answer_filter(&filtered, snapshot, &request, now_unix_ms);
        answer_score(&scored, snapshot, &request, now_unix_ms, turn * 10);
        return filtered.judge.filtered.rejected_count + 1;
}

/* What is kept of them, for another pod each time. */
static size_t keep_pod(int64_t turn) {
        struct decision *decision = NULL;
        struct decision_pod pod;

        request.pod.id = (uint64_t)turn + 1;
        if (!decision_take_pod(&request.pod, &pod))
                return 0;
        for (int call = 0; call < 2; call++) {
                decision = decisions_open(decisions, &pod);
                if (!decision)
                        abort();
                if (call == 0)
                        decision_take_filter(&filtered, decision);
                else
                        decision_take_ranking(&scored, decision);
                decisions_close(decisions);
        }
        return decision->filter.rejection_count + decision->ranking.node_count;
}

static size_t read_page(int64_t turn) {
        (void)turn;
        node_reading_parse(reading, &wants, page, page_len, true);
        return reading->cpu_count;
}

static size_t add_step(int64_t turn) {
        uint32_t cpu = 1u << METRIC_CPU, mem = 1u << METRIC_MEM;
        struct window_step step = {
                .at_mono_ms = turn * 15 * MS_PER_S, .counters = cpu, .gauges = mem};

        step.num[METRIC_CPU] = (double)(turn % 16);
        step.den[METRIC_CPU] = 60;
        step.num[METRIC_MEM] = (double)(turn % 7) / 10;
        return window_store_add(windows, &step) || turn == 0;
}

static size_t parse_annotation(int64_t turn) {
        static const char *const texts[] = {"0.34210," STAMP, "0.00000," STAMP, "1.20000," STAMP};
        const char *text = texts[turn % 3];
        struct annotation parsed;

        return annotation_parse(text, strlen(text), NULL, &parsed, NULL) == 0;
}

static const struct stage {
        const char *name;
        void (*prepare)(void);
        size_t (*run)(int64_t turn); /* 0: it did not do its work */
} stages[] = {
        {"skim", prepare_skim, skim},
        {"judge", prepare_judge, judge_pod},
        {"decision", prepare_decision, keep_pod},
        {"exposition", prepare_exposition, read_page},
        {"window-step", prepare_window, add_step},
        {"annotation", prepare_nothing, parse_annotation},
};

/* valgrind --toggle-collect uses the name. */
void counted(const struct stage *stage);
__attribute__((noinline)) void counted(const struct stage *stage) {
        for (int64_t turn = 0; turn < TIMES; turn++)
                if (stage->run(turn) == 0)
                        abort();
}

int main(int argc, char **argv) {
        for (size_t i = 0; i < ARRAY_LEN(stages); i++)
                if (argc == 2 && strcmp(argv[1], stages[i].name) == 0) {
                        stages[i].prepare();
                        counted(&stages[i]);
                        (void)printf("%s\n", __VERSION__);
                        return 0;
                }
        (void)fprintf(stderr, "usage: instructions STAGE\n");
        return 2;
}
