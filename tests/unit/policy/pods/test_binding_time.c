/* Bindings from a watch on pods, as time passes. */
#include "tests/unit/fixture/test.h"

#include "base/timestamp.h"
#include "policy/pods/binding_watch.h"
#include "tests/unit/fixture/reflector_steps.h"

static void add(struct fixture *f, const char *expect, char *response, bool holds) {
        scripted_add(
                &f->rig.server,
                (struct scripted_reply){.expect = {expect}, .response = response, .holds = holds});
}

struct bindings {
        struct fixture f;
        int64_t passes_s; /* behind the second */
};

static void on_binding(void *userdata, const char *node, int64_t at_unix_ms) {
        struct bindings *bindings = userdata;

        assert_true(at_unix_ms <= clock_wall_unix_ms());
        (void)buf_printf(&bindings->f.log, "%s;", node);
        if (strcmp(node, "two") != 0)
                return;
        later_ms += bindings->passes_s * MS_PER_S;
        bindings->f.deadline_mono_ms += bindings->passes_s * MS_PER_S;
}

/* A binding @in_s from now. */
static void put_pod(struct buf *out, const char *uid, const char *node, int64_t in_s) {
        char bound[TIMESTAMP_MAX];

        timestamp_format_s(clock_wall_unix_ms() + in_s * MS_PER_S, bound, sizeof(bound));
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"5\"},"
                         "\"spec\":{\"nodeName\":\"%s\"},\"status\":{\"conditions\":[{\"type\":"
                         "\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}}",
                         uid, uid, node, bound);
}

static void put_event(struct buf *out, const char *uid, const char *node, int64_t in_s) {
        (void)buf_puts(out, "{\"type\":\"MODIFIED\",\"object\":");
        put_pod(out, uid, node, in_s);
        (void)buf_puts(out, "}\n");
}

/* A pod is remembered for the five minutes in which it counts, and five for clocks that differ. */
TEST(pods_are_forgotten) {
        static const struct {
                int64_t passes_s;
                const char *log;
        } rows[] = {{9 * 60, "one;two;three;end;"}, {11 * 60, "one;two;three;again;end;"}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct bindings bindings = {.f.wanted_log = rows[i].log,
                                            .passes_s = rows[i].passes_s};
                struct fixture *f = &bindings.f;
                struct buf list = BUF_INIT(1 << 12), event = list, later = list;
                later_ms = 0;
                (void)buf_puts(&list, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
                                      "\"10\"},\"items\":[");
                put_pod(&list, "u", "one", 0);
                (void)buf_puts(&list, "]}");
                put_event(&event, "v", "two", 0);
                put_event(&later, "w", "three", rows[i].passes_s);
                put_event(&later, "u", "again", rows[i].passes_s);
                put_event(&later, "x", "end", rows[i].passes_s);
                add(f, "GET /api/v1/pods?", scripted_http(200, "", list.data), false);
                add(f, "watch=1&", scripted_stream(event.data), true); /* then it is idle */
                add(f, "watch=1&", scripted_stream(later.data), true);
                start_stepped(f);
                struct binding_watch *watch = binding_watch_new(f->rig.loop, f->rig.api,
                                                                f->rig.metrics, 5 * MS_PER_MIN,
                                                                on_binding, &bindings);
                run(f);
                assert_true(binding_watch_is_live(watch));
                binding_watch_free(watch);
                stop(f);
                buf_done(&list);
                buf_done(&event);
                buf_done(&later);
        }
}
