/* Lists of metrics.k8s.io as metrics-server writes them, and as nobody should. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/source/metrics_api/metrics_api_list.h"

static void note(void *userdata, const char *node, const struct metrics_api_item *m) {
        if (!m)
                (void)buf_printf(userdata, "%s -;", node);
        else
                (void)buf_printf(userdata, "%s %d:%.9g %d:%.17g %lld %lld;", node, m->has_cpu,
                                 m->cpu_cores, m->has_memory, m->memory_bytes,
                                 (long long)m->at_unix_ms, (long long)m->window_ms);
}

#define LIST(items)                                                                                \
        "{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"metadata\":{}," \
        "\"items\":[" items "]}"
#define ITEM(name, timestamp, window, usage)                                                       \
        "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"a\":\"b\"}},\"timestamp\":" timestamp  \
        ",\"window\":" window ",\"usage\":" usage "}"
#define POD(containers)                                                                            \
        "{\"metadata\":{\"namespace\":\"n\",\"name\":\"p\"},\"timestamp\":" WHEN                   \
        ",\"window\":\"15s\",\"containers\":" containers "}"
#define CONTAINER(cpu, memory) "{\"name\":\"c\",\"usage\":{\"cpu\":" cpu ",\"memory\":" memory "}}"
#define WHEN "\"2026-07-23T11:25:54Z\""
#define USAGE "{\"cpu\":\"134876214n\",\"memory\":\"3293194Ki\"}"
#define SAID "1:0.134876214 1:3372230656 1784805954000"

TEST(items) {
        static const struct {
                const char *items;
                const char *said;
        } rows[] = {
                {"", ""},
                {ITEM("a", WHEN, "\"20.059s\"", USAGE), "a " SAID " 20059;"},
                {ITEM("a", WHEN, "\"1m0s\"", USAGE) "," ITEM("b", WHEN, "\"15s\"", USAGE),
                 "a " SAID " 60000;b " SAID " 15000;"},
                /* windows that say nothing */
                {ITEM("a", WHEN, "null", USAGE), "a " SAID " 60000;"},
                {ITEM("a", WHEN, "15", USAGE), "a " SAID " 60000;"},
                {ITEM("a", WHEN, "\"0s\"", USAGE), "a " SAID " 60000;"},
                {ITEM("a", WHEN, "\"-15s\"", USAGE), "a " SAID " 60000;"},
                {ITEM("a", WHEN, "\"1e9s\"", USAGE), "a " SAID " 60000;"},
                {ITEM("a", WHEN, "\"87600h\"", USAGE), "a " SAID " 600000;"},
                /* half of it */
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"1\"}"), "a 1:1 0:0 1784805954000 15000;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"much\",\"memory\":\"7\"}"),
                 "a 0:0 1:7 1784805954000 15000;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"1\",\"memory\":\"0\"}"),
                 "a 1:1 0:0 1784805954000 15000;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"0n\",\"memory\":\"7\"}"),
                 "a 0:0 1:7 1784805954000 15000;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"-1\",\"memory\":\"1e3\"}"),
                 "a 0:0 1:1000 1784805954000 15000;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"1e30\",\"memory\":7}"),
                 "a 1:9.22337204e+18 0:0 1784805954000 15000;"},
                /* pods: all containers together, which may use no CPU */
                {POD("[" CONTAINER("\"100m\"", "\"1Ki\"") "," CONTAINER("\"0\"", "\"1Ki\"") "]"),
                 "n/p 1:0.1 1:2048 1784805954000 15000;"},
                {POD("[" CONTAINER("\"0\"", "\"1Ki\"") "]"), "n/p 1:0 1:1024 1784805954000 15000;"},
                {POD("[" CONTAINER("\"1\"", "\"1\"") "," CONTAINER("\"-1\"", "\"1\"") "]"),
                 "n/p 0:0 1:2 1784805954000 15000;"},
                {POD("[" CONTAINER("\"1\"", "\"0\"") "]"), "n/p 1:1 0:0 1784805954000 15000;"},
                {POD("[{\"usage\":7},[]]"), "n/p -;"},
                {POD("[]"), "n/p -;"},
                {POD("7"), "n/p -;"},
                /* nothing of it */
                {ITEM("a", WHEN, "\"15s\"", "{}"), "a -;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"0\",\"memory\":\"0\"}"), "a -;"},
                {ITEM("a", WHEN, "\"15s\"", "[]"), "a -;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":1,\"memory\":\"\"}"), "a -;"},
                {ITEM("a", WHEN, "\"15s\"", "{\"cpu\":\"1\\u0000\"}"), "a -;"},
                {ITEM("a", "null", "\"15s\"", USAGE), "a -;"},
                {ITEM("a", "1784805954", "\"15s\"", USAGE), "a -;"},
                {ITEM("a", "\"2026-02-30T11:25:54Z\"", "\"15s\"", USAGE), "a -;"},
                {"{\"metadata\":{\"name\":\"a\"}}", "a -;"},
                /* of nobody */
                {"{}", ""},
                {"{\"metadata\":null}", ""},
                {ITEM("", WHEN, "\"15s\"", USAGE), ""},
                {ITEM("a\\u0000b", WHEN, "\"15s\"", USAGE), ""},
                {"{\"metadata\":{\"name\":\"a\"},\"n\":1e999}",
                 ""}, /* no number that jansson has */
                {"{\"metadata\":{\"name\":7}}," ITEM("b", WHEN, "\"15s\"", USAGE),
                 "b " SAID " 15000;"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf log = BUF_INIT(1 << 12);
                struct error err = ERROR_NULL;
                _cleanup_(freep) char *text = xasprintf(LIST("%s"), rows[i].items);
                int r = metrics_api_list_parse(text, strlen(text), note, &log, &err);
                if (r != 0 || strcmp(log.data ? log.data : "", rows[i].said) != 0)
                        fail_msg("row %zu gave %d '%s' (%s)", i, r, log.data, err.msg);
                buf_done(&log);
        }
}

TEST(no_list) {
        static const char *const rows[] = {
                "",
                "null",
                "[]",
                "{}",
                "<html>",
                "{\"kind\":\"Status\",\"status\":\"Failure\"}",
                "{\"kind\":\"Table\",\"columnDefinitions\":[],\"rows\":[]}",
                "{\"kind\":\"NodeMetricsList\"}",
                "{\"kind\":\"NodeMetricsList\",\"items\":{}}",
                "{\"kind\":\"NodeMetricsList\",\"items\":[1]}",
                LIST("{}") "x",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf log = BUF_INIT(1 << 12);
                struct error err = ERROR_NULL;
                int r = metrics_api_list_parse(rows[i], strlen(rows[i]), note, &log, &err);
                if (r != -EBADMSG || err.msg[0] == '\0')
                        fail_msg("row %zu gave %d (%s)", i, r, err.msg);
                buf_done(&log);
        }
}

/* A list that is cut off anywhere is none. */
TEST(cut) {
        static const char text[] = LIST(ITEM("a", WHEN, "\"15s\"", USAGE));

        for (size_t len = 0; len < sizeof(text) - 1; len++) {
                struct buf log = BUF_INIT(1 << 12);
                _cleanup_(freep) char *copy = xmalloc(len); /* exactly, for the sanitizer's sake */
                memcpy(copy, text, len);
                assert_int_equal(metrics_api_list_parse(copy, len, note, &log, NULL), -EBADMSG);
                buf_done(&log);
        }
}
