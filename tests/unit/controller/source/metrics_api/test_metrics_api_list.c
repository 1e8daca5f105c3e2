/* Lists of metrics.k8s.io as metrics-server writes them, and as nobody should. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/source/metrics_api/metrics_api_list.h"
#include "tests/unit/fixture/rows.h"

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
#define WHEN "\"2026-07-23T11:25:54Z\""
#define USAGE "{\"cpu\":\"134876214n\",\"memory\":\"3293194Ki\"}"

static void show(const char *text, size_t len, struct buf *out) {
        _cleanup_(freep) char *list = xasprintf(LIST("%s"), text);
        struct error err = ERROR_NULL;

        assert_int_equal(metrics_api_list_parse(list, strlen(list), note, out, &err), 0);
}

TEST(items) {
        struct buf none = BUF_INIT(1);

        rows_check("metrics-api-items.tsv", show);
        show("", 0, &none);
        assert_int_equal(none.len, 0);
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
