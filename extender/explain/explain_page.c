#include "extender/explain/explain_page.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "extender/explain/explain_request.h"
#include "extender/explain/explanation.h"

struct explain_page {
        struct loop *side;
        struct node_table *table;
        struct node_table_options style;
        pthread_mutex_t lock; /* guards what follows */
        bool is_stopped;
        struct http_exchange *exchange; /* in progress; NULL: none */
};

/* A request in progress. */
struct asking {
        struct explain_page *page;
        struct explain_request request;
        int64_t now_unix_ms, give_up_mono_ms;
        struct node_snapshot *live, *snapshot; /* the second is what is judged */
        struct buf json;
};

static int check_bounds(const struct asking *asking, struct error *err) {
        if (asking->json.overflow)
                return error_set(err, E2BIG, "the answer is larger than %d MiB: select fewer nodes",
                                 EXPLAIN_REPLY_MAX_BYTES >> 20);
        return clock_mono_ms() < asking->give_up_mono_ms
                       ? 0
                       : error_set(err, ETIMEDOUT,
                                   "this takes longer than %d s: send or select fewer nodes",
                                   EXPLAIN_MAX_MS / (int)MS_PER_S);
}

/* ---- Nodes of the request. */

static int put_node(const struct asking *asking, struct node_table *table, const char *text,
                    size_t len, struct error *err) {
        size_t before = node_table_count(table);
        json_auto_t *node = NULL;

        if (before == EXPLAIN_NODES_MAX)
                return error_set(err, E2BIG, "expected at most %d nodes", EXPLAIN_NODES_MAX);
        if (len > EXPLAIN_NODE_MAX_BYTES)
                return error_set(err, EINVAL, "expected at most %d MiB",
                                 EXPLAIN_NODE_MAX_BYTES >> 20);
        int r = json_parse(text, len, &node, err);
        if (r < 0)
                return r;
        if (!node_table_put(table, node, asking->now_unix_ms))
                return error_set(err, EINVAL, "no metadata.name: not a Node");
        if (node_table_count(table) != before + 1)
                return error_set(err, EINVAL,
                                 "metadata.name '%.64s' is a duplicate or not a valid node name",
                                 json_string_at(node, "metadata", "name", NULL));
        return check_bounds(asking, err);
}

static int put_nodes(const struct asking *asking, struct node_table *table, struct error *err) {
        struct skim skim;
        int r = 0;

        skim_init(&skim, asking->request.nodes.text, asking->request.nodes.len);
        skim_enter(&skim);
        for (size_t i = 0; r == 0 && skim_element(&skim) == SKIM_MORE; i++) {
                const char *begin = skim.at;
                if (!skim_value(&skim))
                        return error_set(err, EINVAL, "nodes[%zu]: not JSON", i);
                r = put_node(asking, table, begin, (size_t)(skim.at - begin), err);
                if (r < 0 && r != -ETIMEDOUT)
                        r = error_wrap(err, r, "nodes[%zu]", i);
        }
        return r;
}

/* The snapshot stays valid without its table. */
static int judge_nodes_of_request(struct asking *asking, struct error *err) {
        struct node_table_options options = asking->page->style;
        struct policy *policy = NULL;
        const char *text = asking->request.policy;

        int r = text ? policy_parse(text, strlen(text), false, &policy, err) : 0;
        if (r < 0)
                return error_wrap(err, r, "policy");
        options.metrics = NULL; /* these verdicts are no scheduler's */
        options.like = asking->live;
        options.has_no_pods = asking->request.at_unix_ms != 0;
        _cleanup_(node_table_freep) struct node_table *table = node_table_new(&options, policy,
                                                                              asking->now_unix_ms);
        r = put_nodes(asking, table, err);
        if (r < 0)
                return r;
        node_table_publish(table, asking->now_unix_ms);
        asking->snapshot = node_table_acquire(table);
        return 0;
}

/* ---- The answer. */

static int write_selected(const struct asking *asking, const struct explanation *explanation,
                          struct buf *json, struct error *err) {
        struct skim_string name;
        struct skim skim;

        skim_init(&skim, asking->request.select.text, asking->request.select.len);
        skim_enter(&skim);
        for (size_t i = 0; skim_element(&skim) == SKIM_MORE; i++) {
                if (!skim_string(&skim, &name))
                        return error_set(err, EINVAL, "select[%zu]: expected a name", i);
                uint32_t row = node_names_find(asking->snapshot->names, name.text, name.len);
                if (row == NODE_ROW_NONE)
                        return error_set(err, ENOENT, "there is no node '%.*s'",
                                         (int)(name.len < 64 ? name.len : 64), name.text);
                explanation_json_node(explanation, row, !asking->request.has_no_terms, json);
                int r = check_bounds(asking, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_nodes(const struct asking *asking, const struct explanation *explanation,
                       struct buf *json, struct error *err) {
        int r = 0;

        for (size_t row = 0; r == 0 && row < asking->snapshot->nodes.count; row++) {
                explanation_json_node(explanation, row, !asking->request.has_no_terms, json);
                r = check_bounds(asking, err);
        }
        return r;
}

static int write_answer(struct asking *asking, struct error *err) {
        struct buf *json = &asking->json;
        struct explanation explanation;

        explanation_init(&explanation, asking->snapshot,
                         asking->request.has_pod ? &asking->request.pod : NULL, asking->now_unix_ms,
                         clock_mono_ms());
        explanation_json_begin(&explanation, json);
        int r = asking->request.select.text ? write_selected(asking, &explanation, json, err)
                                            : write_nodes(asking, &explanation, json, err);
        explanation_json_end(json);
        explanation_done(&explanation);
        return r < 0 ? r : check_bounds(asking, err);
}

static int answer(struct asking *asking, const struct http_exchange *exchange, struct error *err) {
        int r = explain_request_parse(exchange->body, exchange->body_bytes, &asking->request, err);
        if (r < 0)
                return r;
        asking->now_unix_ms = asking->request.at_unix_ms ? asking->request.at_unix_ms
                                                         : clock_wall_unix_ms();
        asking->live = node_table_acquire(asking->page->table);
        if (asking->request.nodes.text)
                r = judge_nodes_of_request(asking, err);
        else
                asking->snapshot = node_snapshot_ref(asking->live);
        return r < 0 ? r : write_answer(asking, err);
}

static void asking_done(struct asking *asking) {
        if (asking->snapshot)
                node_snapshot_unref(asking->snapshot);
        if (asking->live)
                node_snapshot_unref(asking->live);
        explain_request_done(&asking->request);
}

/* On the thread of the side loop. */
static void explain_now(void *userdata) {
        struct explain_page *page = userdata;
        struct http_exchange *exchange = page->exchange;
        struct asking asking = {.page = page,
                                .give_up_mono_ms = clock_mono_ms() + EXPLAIN_MAX_MS,
                                .json = BUF_INIT(EXPLAIN_REPLY_MAX_BYTES)};
        struct error err = ERROR_NULL;

        int r = answer(&asking, exchange, &err);
        asking_done(&asking);
        if (r == 0) {
                http_reply_text(exchange, 200, "application/json", &asking.json);
        } else {
                buf_done(&asking.json);
                http_reply_error(exchange,
                                 r == -ETIMEDOUT ? 503
                                 : r == -ENOENT  ? 404
                                 : r == -E2BIG   ? 413
                                                 : 400,
                                 err.msg);
        }
        (void)pthread_mutex_lock(&page->lock);
        page->exchange = NULL;
        (void)pthread_mutex_unlock(&page->lock);
        http_resume(exchange);
}

/* Return: 0: it is under way; or the status of the refusal */
static int begin(struct explain_page *page, struct http_exchange *exchange) {
        (void)pthread_mutex_lock(&page->lock);
        int status = page->is_stopped ? 503 : page->exchange ? 429 : 0;
        if (status == 0) {
                http_suspend(exchange);
                page->exchange = exchange;
                loop_post(page->side, explain_now, page);
        }
        (void)pthread_mutex_unlock(&page->lock);
        return status;
}

bool explain_page(struct explain_page *page, struct http_exchange *exchange) {
        static const char *const retry[] = {"Retry-After", "1", NULL};

        if (!page || strcmp(exchange->path, "/explain") != 0)
                return false;
        if (!http_takes(exchange, "POST"))
                return true;
        int status = exchange->body_bytes > EXPLAIN_MAX_BYTES ? 413 : begin(page, exchange);
        if (status == 429)
                exchange->reply_headers = retry;
        if (status != 0)
                http_reply_error(exchange, status,
                                 status == 413   ? "the request is larger than 64 MiB"
                                 : status == 429 ? "another explanation is under way"
                                                 : "the extender is stopping");
        return true;
}

struct explain_page *explain_page_new(struct loop *side, struct node_table *table,
                                      const struct node_table_options *style) {
        struct explain_page *page = xcalloc(1, sizeof(*page));

        page->side = side;
        page->table = table;
        page->style = *style;
        (void)pthread_mutex_init(&page->lock, NULL);
        return page;
}

void explain_page_stop(struct explain_page *page) {
        (void)pthread_mutex_lock(&page->lock);
        struct http_exchange *waiting = TAKE_PTR(page->exchange);
        page->is_stopped = true;
        (void)pthread_mutex_unlock(&page->lock);
        if (waiting) {
                waiting->status = 503;
                http_resume(waiting);
        }
}

void explain_page_free(struct explain_page *page) {
        if (!page)
                return;
        (void)pthread_mutex_destroy(&page->lock);
        free(page);
}
