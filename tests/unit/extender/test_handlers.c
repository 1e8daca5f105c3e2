/* Requests of a scheduler, from the path to the reply, and what is counted and logged of them.
 * Linked with --wrap=log_fields and --wrap=request_parse too. */
#include "tests/unit/fixture/node_words.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "extender/answer/request.h"
#include "extender/handlers.h"
#include "tests/unit/fixture/clock.h"

#define RECENT "2026-07-23T11:25:54Z"

enum { PADDING_BYTES = 64, MANY = (1 << 16) + 1, AT_A_TIME = 100 };

static struct buf log_lines;
static void (*on_read)(void); /* after a request was read; NULL: nothing happens in the meantime */

void __wrap_log_fields(enum log_level level, const struct log_field *fields, size_t count);

void __wrap_log_fields(enum log_level level, const struct log_field *fields, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (fields[i].str)
                        (void)buf_printf(&log_lines, "%s ", fields[i].str);
                else if (strcmp(fields[i].key, "reply_bytes") != 0)
                        (void)buf_printf(&log_lines, "%s=%lld ", fields[i].key,
                                         (long long)fields[i].num);
        (void)buf_puts(&log_lines, "\n");
}

int __real_request_parse(struct request *request, const char *text, size_t len, size_t max_nodes,
                         struct error *err);
int __wrap_request_parse(struct request *request, const char *text, size_t len, size_t max_nodes,
                         struct error *err);

int __wrap_request_parse(struct request *request, const char *text, size_t len, size_t max_nodes,
                         struct error *err) {
        int r = __real_request_parse(request, text, len, max_nodes, err);

        if (on_read)
                on_read();
        return r;
}

struct fixture {
        struct daemon daemon; /* its metrics and health */
        struct node_table *table;
        struct handlers *handlers;
        struct buf reply;
        int status;
};

static void put(struct fixture *f, const char *name, const char *annotations) {
        put_node(f->table, &(struct node_words){name, annotations}, standing_ms);
}

/* Nodes "idle" and "busy", which is over the limit. */
static void start(struct fixture *f) {
        static const char text[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                   "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                                   "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n";

        standing_ms = CLOCK_START_MS;
        log_lines = BUF_INIT(1 << 16);
        (void)buf_puts(&log_lines, "");
        f->reply = BUF_INIT(1 << 23);
        f->daemon.metrics = metrics_new();
        f->daemon.health = health_new();
        f->table = node_table_new(
                &(struct node_table_options){.annotation_prefix = "", .metrics = f->daemon.metrics},
                policy_of(text), standing_ms);
        put(f, "idle", "cpu_usage_avg_5m=0.25," RECENT);
        put(f, "busy", "cpu_usage_avg_5m=0.75," RECENT);
        node_table_publish(f->table, standing_ms);
        f->handlers = handlers_new(&(struct handlers_parts){
                .daemon = &f->daemon,
                .table = f->table,
                .is_debug = true,
        });
}

static void stop(struct fixture *f) {
        handlers_free(f->handlers);
        node_table_free(f->table);
        health_free(f->daemon.health);
        metrics_free(f->daemon.metrics);
        buf_done(&f->reply);
        buf_done(&log_lines);
}

static void call(struct fixture *f, const char *path, const char *body) {
        size_t len = strlen(body);
        _cleanup_(freep) char *padded = xcalloc(1, len + PADDING_BYTES);
        struct http_exchange exchange = {
                .method = "POST",
                .path = path,
                .body = padded,
                .body_bytes = len,
                .content_type = "",
                .status = 500,
        };

        memcpy(padded, body, len);
        buf_clear(&f->reply);
        (void)buf_puts(&f->reply, "");
        handlers_answer(f->handlers, &exchange);
        f->status = exchange.status;
        for (size_t i = 0; i < exchange.reply_count; i++)
                (void)buf_append(&f->reply, exchange.reply[i].iov_base, exchange.reply[i].iov_len);
        if (exchange.release)
                exchange.release(exchange.release_userdata);
}

static void check_log(const char *expected) {
        assert_string_equal(log_lines.data, expected);
        buf_clear(&log_lines);
        (void)buf_puts(&log_lines, "");
}

static double counter(struct fixture *f, const char *name, const char *const *labels) {
        return metrics_value(metrics_counter(f->daemon.metrics, name, "", labels));
}

static double answered(struct fixture *f, const char *verb, const char *code) {
        return counter(f, "plimsoll_extender_requests_total", LABELS("verb", verb, "code", code));
}

#define POD "\"Pod\":{\"metadata\":{\"namespace\":\"d\",\"name\":\"p\",\"uid\":\"1\"}}"
#define BOTH "{" POD ",\"NodeNames\":[\"idle\",\"busy\"]}"
#define ESCAPED "{" POD ",\"Node\\u004eames\":[\"idle\",\"busy\"]}"
#define VICTIMS(node) "\"" node "\":{\"Pods\":[{\"UID\":\"2\"}],\"NumPDBViolations\":0}"
#define ASKED(uid)                                                                                 \
        "{\"Pod\":{\"metadata\":{\"namespace\":\"d\",\"name\":\"p" uid "\",\"uid\":\"" uid         \
        "\"},\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"4\"}}}]}},"         \
        "\"NodeNames\":[\"a\",\"b\"]}"
#define SCORES(a, b) "[{\"Host\":\"a\",\"Score\":" a "},{\"Host\":\"b\",\"Score\":" b "}]"
#define LINE(verb, rejected)                                                                       \
        "request " verb " d p candidates=2 rejected=" rejected " left_out=0 unknown=0 \n"

/* One line per request with --log-level=debug. */
TEST(verbs) {
        static const struct {
                const char *verb, *request, *reply, *line;
        } rows[] = {
                {"filter", BOTH, "\"NodeNames\":[\"idle\"]", LINE("filter", "1")},
                /* an escaped key is the same key */
                {"filter", ESCAPED, "\"NodeNames\":[\"idle\"]", LINE("filter", "1")},
                {"prioritize", BOTH, "{\"Host\":\"busy\",\"Score\":", LINE("prioritize", "0")},
                {"preempt", "{\"NodeNameToMetaVictims\":{" VICTIMS("idle") "," VICTIMS("busy") "}}",
                 "{\"NodeNameToMetaVictims\":{" VICTIMS("idle") "}}",
                 "request preempt   candidates=2 rejected=1 left_out=0 unknown=0 \n"},
        };
        struct fixture f = {0};

        start(&f);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *path = xasprintf("/prefix//%s/", rows[i].verb);
                call(&f, path, rows[i].request);
                assert_int_equal(f.status, 200);
                if (!strstr(f.reply.data, rows[i].reply))
                        fail_msg("%s: %s", rows[i].verb, f.reply.data);
                check_log(rows[i].line);
        }
        assert_true(answered(&f, "filter", "200") == 2);
        assert_true(answered(&f, "preempt", "200") == 1);
        assert_true(counter(&f, "plimsoll_extender_verdicts_total",
                            LABELS("predicate", "cpu_usage_avg_5m")) == 2);
        stop(&f);
}

/* Answers with all nodes because all are over a limit are counted, no other ones. */
TEST(all_over) {
        struct fixture f = {0};

        start(&f);
        node_table_set_policy(
                f.table,
                policy_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                          "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.5}]\n"
                          "  extender: {whenAllOver: pass}\n"),
                standing_ms);
        node_table_publish(f.table, standing_ms);
        call(&f, "/filter", BOTH);
        assert_true(counter(&f, "plimsoll_extender_all_over_total", NULL) == 0);
        call(&f, "/filter", "{\"NodeNames\":[\"busy\"]}");
        assert_non_null(strstr(f.reply.data, "\"NodeNames\":[\"busy\"]"));
        assert_true(counter(&f, "plimsoll_extender_all_over_total", NULL) == 1);
        stop(&f);
}

/* One line a minute, with the number of those before it that had none. */
TEST(refusals) {
        struct fixture f = {0};

        start(&f);
        for (int i = 0; i < 3; i++)
                call(&f, "/filter", "{");
        assert_int_equal(f.status, 400);
        assert_string_equal(f.reply.data, "");
        assert_non_null(strstr(log_lines.data, "request refused /filter body_bytes=1 "));
        assert_non_null(strstr(log_lines.data, "unlogged=0 \n"));
        assert_null(strstr(strchr(log_lines.data, '\n') + 1, "refused"));
        check_log(log_lines.data);
        standing_ms += MS_PER_MIN;
        call(&f, "/filter", BOTH);
        check_log(LINE("filter", "1"));
        call(&f, "/filter", "{");
        assert_non_null(strstr(log_lines.data, "unlogged=2 \n"));
        check_log(log_lines.data);
        assert_true(answered(&f, "filter", "400") == 4);
        stop(&f);
}

static struct node_table *estimated;

/* The loop's thread sees that the pod was bound to "a". */
static void show_binding(void) {
        on_read = NULL;
        estimator_bind(node_table_estimator(estimated), &(struct pod_facts){
                                                                .id = strmap_hash("1", 1),
                                                                .node = {"a", 1},
                                                                .request = {{4, 1e9}},
                                                                .runs_unix_ms = standing_ms,
                                                        });
        node_table_publish(estimated, standing_ms);
}

/* While the next request is read a snapshot is published that has the last pod, so that this is no
 * longer reserved: the request is answered from that snapshot. */
TEST(published_meanwhile) {
        static const char *const names[] = {"a", "b"};
        struct fixture f = {0};

        start(&f);
        estimated = f.table;
        node_table_set_policy(f.table, policy_of("  extender: {scoring: estimate}\n"), standing_ms);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                put_node(f.table,
                         &(struct node_words){.name = names[i], .capacity = "cpu=10 memory=100Gi"},
                         standing_ms);
        estimator_list_ended(node_table_estimator(f.table), standing_ms, standing_ms);
        node_table_publish(f.table, standing_ms);
        call(&f, "/prioritize", ASKED("1"));
        assert_string_equal(f.reply.data, SCORES("10", "10"));
        standing_ms += MS_PER_S;
        on_read = show_binding;
        call(&f, "/prioritize", ASKED("2"));
        assert_null(on_read);
        assert_string_equal(f.reply.data, "[{\"Host\":\"b\",\"Score\":10}]");
        stop(&f);
}

/* Candidates that are scored are counted by their readings: two of the four have none that holds.
 */
TEST(scored) {
        struct fixture f = {0};

        start(&f);
        node_table_set_policy(f.table,
                              policy_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                        "  extender: {scoring: estimate}\n"),
                              standing_ms);
        put(&f, "expired", "cpu_usage_avg_5m=0.25,2026-07-23T11:17:54Z");
        put(&f, "missing", NULL);
        node_table_publish(f.table, standing_ms);
        call(&f, "/prioritize",
             "{\"NodeNames\":[\"idle\",\"busy\",\"expired\",\"missing\",\"unknown\",\"idle\"]}");
        assert_int_equal(f.status, 200);
        assert_true(counter(&f, "plimsoll_extender_scored_candidates_total",
                            LABELS("reading", "current")) == 2);
        assert_true(counter(&f, "plimsoll_extender_scored_candidates_total",
                            LABELS("reading", "expired")) == 2);
        stop(&f);
}

/* With the padding that a body has. */
static struct buf request_of(int count) {
        struct buf request = BUF_INIT(1 << 23);

        (void)buf_puts(&request, "{" POD ",\"NodeNames\":[\"busy\"");
        for (int i = 1; i < count; i++)
                (void)buf_printf(&request, ",\"n%d\"", i);
        (void)buf_puts(&request, "]}");
        assert_true(buf_reserve(&request, PADDING_BYTES));
        memset(request.data + request.len, 0, PADDING_BYTES);
        return request;
}

/* So many nodes that a scheduler may know MANY. */
static void put_many(struct fixture *f) {
        char name[16];

        for (int i = 0; i < MANY / 2; i++) {
                (void)snprintf(name, sizeof(name), "m%d", i);
                put(f, name, "");
        }
        node_table_publish(f->table, standing_ms);
}

/* More candidates than memory is kept for are answered as others are, and so is who comes next. */
TEST(many_candidates) {
        struct fixture f = {0};
        struct buf request = request_of(MANY);

        start(&f);
        put_many(&f);
        call(&f, "/filter", request.data);
        assert_int_equal(f.status, 200);
        assert_true(counter(&f, "plimsoll_extender_unknown_nodes_total", NULL) == MANY - 1);
        call(&f, "/filter", BOTH);
        assert_non_null(strstr(f.reply.data, "\"NodeNames\":[\"idle\"]"));
        buf_done(&request);
        stop(&f);
}

/* A stranger's list of names costs no more than a scheduler's. Before the nodes are known, any list
 * may be a scheduler's. */
TEST(more_candidates_than_nodes) {
        static const struct {
                bool has_nodes;
                int candidates, status;
        } rows[] = {{true, 1004, 200}, {true, 1005, 413}, {false, 1005, 200}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf request = request_of(rows[i].candidates);
                struct fixture f = {0};
                start(&f);
                if (!rows[i].has_nodes) {
                        node_table_remove(f.table, "idle");
                        node_table_remove(f.table, "busy");
                        node_table_publish(f.table, standing_ms);
                }
                call(&f, "/filter", request.data);
                assert_int_equal(f.status, rows[i].status);
                buf_done(&request);
                stop(&f);
        }
}

/* As many requests at a time as there may be workers: each has memory of its own. */
TEST(many_at_a_time) {
        static const char body[sizeof(BOTH) + PADDING_BYTES] = BOTH;
        struct fixture f = {0};
        struct http_exchange exchanges[AT_A_TIME];

        start(&f);
        for (int round = 0; round < 2; round++) {
                for (size_t i = 0; i < AT_A_TIME; i++) {
                        exchanges[i] = (struct http_exchange){
                                .method = "POST",
                                .path = "/filter",
                                .body = body,
                                .body_bytes = sizeof(BOTH) - 1,
                                .content_type = "",
                                .status = 500,
                        };
                        handlers_answer(f.handlers, &exchanges[i]);
                        assert_int_equal(exchanges[i].status, 200);
                        for (size_t before = 0; before < i; before++)
                                assert_ptr_not_equal(exchanges[i].release_userdata,
                                                     exchanges[before].release_userdata);
                }
                for (size_t i = 0; i < AT_A_TIME; i++)
                        exchanges[i].release(exchanges[i].release_userdata);
        }
        assert_true(answered(&f, "filter", "200") == 2 * AT_A_TIME);
        stop(&f);
}

/* What is kept for large replies that are not read is bounded. Small ones are sent in the meantime,
 * and large ones again when others have been read. */
TEST(unread_replies) {
        enum { TRIES = 40 };
        struct fixture f = {0};
        struct buf request = request_of(MANY);
        struct http_exchange *exchanges = xcalloc(TRIES, sizeof(*exchanges));
        size_t count = 0;

        start(&f);
        /* Without a difference between the candidates, each has the best score. */
        node_table_set_policy(f.table, policy_of("  extender: {scoring: spread}\n"), standing_ms);
        node_table_remove(f.table, "busy");
        put_many(&f);
        do {
                assert_true(count < TRIES);
                exchanges[count] = (struct http_exchange){
                        .method = "POST",
                        .path = "/prioritize",
                        .body = request.data,
                        .body_bytes = request.len,
                        .content_type = "",
                        .status = 500,
                };
                handlers_answer(f.handlers, &exchanges[count]);
        } while (exchanges[count++].status == 200);
        assert_int_equal(exchanges[count - 1].status, 503);
        assert_int_equal(exchanges[count - 1].reply_count, 0);
        assert_true(count > 3 && answered(&f, "prioritize", "503") == 1);
        assert_non_null(strstr(log_lines.data, "request refused /prioritize "));
        call(&f, "/filter", BOTH);
        assert_int_equal(f.status, 200);
        struct node_snapshot *snapshot = node_table_acquire(f.table);
        assert_int_equal(atomic_load(&snapshot->refs), 2); /* the table's and ours */
        node_snapshot_unref(snapshot);
        for (size_t i = 0; i < count; i++)
                if (exchanges[i].release)
                        exchanges[i].release(exchanges[i].release_userdata);
        call(&f, "/prioritize", request.data);
        assert_int_equal(f.status, 200);
        free(exchanges);
        buf_done(&request);
        stop(&f);
}
