/* Replies to the byte, for requests by name and by Node object. */
#include "tests/unit/fixture/answer_fixture.h"

#include <errno.h>

#include "tests/unit/fixture/rows.h"

#define READ ",2026-07-23T09:46:00Z"

static const char policy_text[] = "  syncPolicy:\n"
                                  "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                                  "  - {name: mem_usage_avg_5m, period: 3m}\n"
                                  "  predicate:\n"
                                  "  - {name: cpu_usage_avg_5m, maxLimitPecent: 0.65}\n"
                                  "  - {name: mem_usage_avg_5m, maxLimitPecent: 0.5}\n"
                                  "  priority:\n"
                                  "  - {name: cpu_usage_avg_5m, weight: 1}\n";

static struct fixture *cluster_new(const char *extra_policy) {
        static const struct node_words nodes[] = {
                {"idle", "cpu_usage_avg_5m=0.10000" READ " mem_usage_avg_5m=0.1" READ},
                {"half", "cpu_usage_avg_5m=0.50000" READ " mem_usage_avg_5m=0.1" READ},
                {"busy", "cpu_usage_avg_5m=0.66000" READ " mem_usage_avg_5m=0.9" READ},
                {"full", "cpu_usage_avg_5m=0.10000" READ " mem_usage_avg_5m=0.9" READ},
                {"stale", "cpu_usage_avg_5m=0.99000,2026-07-23T09:00:00Z"},
                {"odd\"name", "cpu_usage_avg_5m=0.70000" READ},
        };
        _cleanup_(freep) char *text = xasprintf("%s%s", policy_text, extra_policy);
        struct fixture *fixture = fixture_new(text);

        for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
                put_node(fixture->table, &nodes[i], NOW);
        publish(fixture);
        return fixture;
}

static const char *joined(struct fixture *fixture) {
        static char text[4096];
        size_t len = 0;

        for (size_t i = 0; i < fixture->reply.count; i++) {
                const struct iovec *piece = &fixture->reply.pieces[i];
                assert_true(len + piece->iov_len < sizeof(text));
                memcpy(text + len, piece->iov_base, piece->iov_len);
                len += piece->iov_len;
        }
        assert_int_equal(len, fixture->reply.bytes);
        text[len] = '\0';
        return text;
}

static const char *filter(struct fixture *fixture, const char *request) {
        assert_int_equal(
                request_parse(&fixture->request, request, strlen(request), REQUEST_MAX_NODES, NULL),
                0);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        assert_true(reply_filter(&fixture->reply, &fixture->answer));
        return joined(fixture);
}

static const char *preempt(struct fixture *fixture, const char *request) {
        struct error err = ERROR_NULL;

        if (request_parse_preemption(&fixture->request, request, strlen(request), REQUEST_MAX_NODES,
                                     &err) < 0)
                fail_msg("%s: %s", request, err.msg);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        assert_true(reply_preempt(&fixture->reply, &fixture->answer));
        return joined(fixture);
}

static const char *prioritize(struct fixture *fixture, const char *request) {
        assert_int_equal(
                request_parse(&fixture->request, request, strlen(request), REQUEST_MAX_NODES, NULL),
                0);
        answer_score(&fixture->answer, fixture->snapshot, &fixture->request, NOW, 0);
        assert_true(reply_prioritize(&fixture->reply, &fixture->answer));
        return joined(fixture);
}

TEST(replies) {
        struct fixture *plain = cluster_new("");
        struct fixture *shortlisting = cluster_new(
                "  extender: {shortlist: 1, whenAllOver: reject}\n");
        struct fixture *spreading = cluster_new("  extender: {scoring: spread}\n");

        for (struct rows rows = rows_open("replies.tsv"); rows_next(&rows);) {
                const char *verb = rows.cells[0], *request = rows.cells[1], *reply = "";
                if (strcmp(verb, "filter") == 0) {
                        reply = filter(plain, request);
                } else if (strcmp(verb, "shortlist") == 0) {
                        (void)filter(shortlisting, request);
                        answer_shortlist(&shortlisting->answer, 0);
                        assert_true(reply_filter(&shortlisting->reply, &shortlisting->answer));
                        reply = joined(shortlisting);
                } else if (strcmp(verb, "preempt") == 0) {
                        reply = preempt(plain, request);
                } else if (strcmp(verb, "refused") == 0) {
                        assert_int_equal(
                                request_parse_preemption(&plain->request, request, strlen(request),
                                                         REQUEST_MAX_NODES, &(struct error){0}),
                                -EINVAL);
                } else {
                        reply = prioritize(strcmp(verb, "spread") == 0 ? spreading : plain,
                                           request);
                }
                if (strcmp(reply, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, reply);
        }
        fixture_free(plain);
        fixture_free(shortlisting);
        fixture_free(spreading);
}

#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"

/* A table that nothing has filled yet rejects nobody and prefers nobody. */
TEST(empty_table) {
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""}, policy_default(), NOW);
        struct fixture fixture = {.table = table, .snapshot = node_table_acquire(table)};

        reply_init(&fixture.reply);
        assert_string_equal(filter(&fixture, "{\"NodeNames\":[\"a\",\"b\",\"a\"]}"),
                            "{\"Nodes\":null,\"NodeNames\":[\"a\",\"b\"],\"FailedNodes\":{},"
                            "\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}");
        assert_string_equal(prioritize(&fixture, "{\"NodeNames\":[\"a\",\"b\"]}"), "[]");
        request_done(&fixture.request);
        answer_done(&fixture.answer);
        reply_done(&fixture.reply);
        node_snapshot_unref(fixture.snapshot);
        node_table_free(table);
}

/* A request's number is found at no node of an earlier request, also when the numbers begin again.
 */
TEST(request_numbers) {
        static const char request[] = "{\"NodeNames\":[\"idle\",\"half\"]}";
        struct fixture *fixture = cluster_new("");

        for (int i = 0; i < 3; i++) {
                assert_non_null(strstr(filter(fixture, request), "[\"idle\",\"half\"]"));
                if (i == 0) /* these nodes are of request 1, and so is what follows the largest */
                        fixture->answer.candidates.request_number = UINT32_MAX;
        }
        fixture_free(fixture);
}

/* A reply that would be larger than any may be is none. */
TEST(too_large) {
        static const char request[] = "{\"NodeNames\":[\"idle\",\"half\",\"busy\"]}";
        struct fixture *fixture = cluster_new("");
        struct reply *reply = &fixture->reply;

        (void)prioritize(fixture, request);
        for (size_t max = reply->text.len - 1; max > 0; max--) {
                reply_done(reply);
                reply->text.max_bytes = max;
                assert_false(reply_prioritize(reply, &fixture->answer));
        }
        reply_done(reply);
        (void)filter(fixture, request);
        for (size_t max = reply->text.len - 1; max > 0; max--) {
                reply_done(reply);
                reply->text.max_bytes = max;
                assert_false(reply_filter(reply, &fixture->answer));
        }
        fixture_free(fixture);
}

/* Whole victims of many nodes are larger than a tree of them could be. */
TEST(large_victims) {
        enum { NODES = 500, PODS = 4 };
        struct fixture *fixture = cluster_new("");
        struct buf text = BUF_INIT(1 << 27), expected = BUF_INIT(1 << 20);
        struct error err = ERROR_NULL;

        (void)buf_puts(&text, "{\"Pod\":{},\"NodeNameToVictims\":{");
        (void)buf_puts(&expected, "{\"NodeNameToMetaVictims\":{");
        for (int node = 0; node < NODES; node++) {
                (void)buf_printf(&text, "%s\"n%d\":{\"Pods\":[", node ? "," : "", node);
                (void)buf_printf(&expected, "%s\"n%d\":{\"Pods\":[", node ? "," : "", node);
                for (int pod = 0; pod < PODS; pod++) {
                        (void)buf_printf(&text,
                                         "%s{\"metadata\":{\"uid\":\"%d-%d\"},\"x\":\"%08000d\"}",
                                         pod ? "," : "", node, pod, 0);
                        (void)buf_printf(&expected, "%s{\"UID\":\"%d-%d\"}", pod ? "," : "", node,
                                         pod);
                }
                (void)buf_puts(&text, "],\"NumPDBViolations\":2}");
                (void)buf_puts(&expected, "],\"NumPDBViolations\":2}");
        }
        (void)buf_puts(&text, "}}");
        (void)buf_puts(&expected, "}}");
        assert_false(text.overflow || expected.overflow);
        assert_true(text.len > 15 << 20);
        if (request_parse_preemption(&fixture->request, text.data, text.len, REQUEST_MAX_NODES,
                                     &err) < 0)
                fail_msg("%s", err.msg);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        assert_true(reply_preempt(&fixture->reply, &fixture->answer));
        assert_int_equal(fixture->reply.bytes, expected.len);
        assert_memory_equal(fixture->reply.text.data, expected.data, expected.len);
        buf_done(&text);
        buf_done(&expected);
        fixture_free(fixture);
}

/* Large Node objects are sent from the request itself, in as few pieces as possible. */
TEST(pieces) {
        static const char *const names[] = {"idle", "half", "busy", "stale", "x"};
        struct fixture *fixture = cluster_new("");
        struct buf text = BUF_INIT(1 << 20);

        (void)buf_puts(&text, "{\"Nodes\":{\"items\":[");
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                (void)buf_printf(&text, "%s{\"metadata\":{\"name\":\"%s\"},\"x\":\"%05000d\"}",
                                 i ? "," : "", names[i], 0);
        (void)buf_puts(&text, "]}}");
        assert_int_equal(
                request_parse(&fixture->request, text.data, text.len, REQUEST_MAX_NODES, NULL), 0);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        assert_true(reply_filter(&fixture->reply, &fixture->answer));
        /* head, idle and half, comma, stale and x, tail */
        assert_int_equal(fixture->reply.count, 5);
        assert_ptr_equal(fixture->reply.pieces[1].iov_base, fixture->request.nodes[0].json);
        assert_ptr_equal(fixture->reply.pieces[3].iov_base, fixture->request.nodes[3].json);
        buf_done(&text);
        fixture_free(fixture);
}

/* However many there are. "busy" is rejected, or named again: it comes between all others. */
TEST(many_pieces) {
        enum { PIECES = 100 };
        struct fixture *fixture = cluster_new("");
        struct buf text = BUF_INIT(1 << 20);

        (void)buf_puts(&text, "{\"Nodes\":{\"items\":[" NODE("busy"));
        for (int i = 0; i < PIECES; i++)
                (void)buf_printf(
                        &text, ",{\"metadata\":{\"name\":\"n%d\"},\"x\":\"%05000d\"}," NODE("busy"),
                        i, 0);
        (void)buf_puts(&text, "]}}");
        assert_int_equal(
                request_parse(&fixture->request, text.data, text.len, REQUEST_MAX_NODES, NULL), 0);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        assert_true(reply_filter(&fixture->reply, &fixture->answer));
        assert_int_equal(fixture->reply.count, 2 * PIECES + 1);
        for (size_t i = 0; i < PIECES; i++)
                assert_ptr_equal(fixture->reply.pieces[2 * i + 1].iov_base,
                                 fixture->request.nodes[2 * i + 1].json);
        buf_done(&text);
        fixture_free(fixture);
}
