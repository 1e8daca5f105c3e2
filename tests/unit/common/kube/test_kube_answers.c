/* What a call to the API server says of odd answers, and what it sends along. */
#include "tests/unit/fixture/test.h"

#include "tests/unit/fixture/proto_encode.h"
#include "tests/unit/fixture/reflector_fixture.h"

struct answer {
        struct loop *loop;
        struct kube_call *call;
        struct kube_answer seen; /* body: gone */
        bool is_done, was_answered;
};

static void on_done(void *userdata, const struct kube_answer *answer) {
        struct answer *ret = userdata;

        ret->seen = *answer;
        ret->is_done = true;
        loop_stop(ret->loop);
}

static bool on_data(void *userdata, const char *data, size_t len) {
        struct answer *ret = userdata;

        ret->was_answered = kube_is_answered(ret->call);
        return true;
}

static struct kube_answer get(struct fixture *f, struct kube_request request) {
        struct answer ret = {.loop = f->rig.loop};

        request.method = "GET";
        request.path = "/x";
        request.on_done = on_done;
        request.userdata = &ret;
        ret.call = kube_start(f->rig.api, &request);
        assert_false(kube_is_answered(ret.call));
        loop_run(f->rig.loop);
        assert_true(ret.is_done);
        assert_int_equal(ret.was_answered, request.on_data != NULL);
        return ret.seen;
}

/* The message of a Status as far as it can be read, else the beginning of the text. */
TEST(statuses) {
        enum { LARGE_BYTES = 65 << 10, SHOWN_BYTES = 300, ROWS = 6 };
        struct buf body[ROWS], status = BUF_INIT(PROTO_TEST_MAX_BYTES);
        _cleanup_(freep) char *large = xcalloc(1, LARGE_BYTES);
        const char *const messages[ROWS] = {"403 {oops", "403 {\"message\":\"m\",\"x\":\"   ",
                                            "403 no",    "403 k8s",
                                            "403 k8s",   "403 (no message)"};

        for (size_t i = 0; i < ROWS; i++) {
                body[i] = BUF_INIT(PROTO_TEST_MAX_BYTES);
                (void)buf_puts(&body[i], "HTTP/1.1 403 X\r\nConnection: close\r\n\r\n");
        }
        (void)buf_puts(&body[0], "{oops");
        (void)buf_printf(&body[1], "{\"message\":\"m\",\"x\":\"%*s\"}", LARGE_BYTES, "");
        proto_put_text(&status, 3, "no");
        proto_put_envelope(&body[2], "Status", status.data, status.len);
        proto_put_envelope(&body[3], "Status", status.data, status.len - 1); /* cut */
        /* As JSON it has six bytes for each of these. */
        memset(large, '\x01', LARGE_BYTES / 2);
        buf_clear(&status);
        proto_put_text(&status, 3, large);
        proto_put_envelope(&body[4], "Status", status.data, status.len);
        for (size_t i = 0; i < ROWS; i++) {
                struct fixture f = {0};
                size_t len = body[i].len;
                scripted_add(&f.rig.server, (struct scripted_reply){.response = buf_take(&body[i]),
                                                                    .response_bytes = len});
                start(&f);
                struct kube_answer answer = get(&f, (struct kube_request){0});
                assert_int_equal(answer.outcome, KUBE_FORBIDDEN);
                if (strncmp(answer.err.msg, messages[i], strlen(messages[i])) != 0 ||
                    strlen(answer.err.msg) > strlen("403 ") + SHOWN_BYTES)
                        fail_msg("row %zu: '%s'", i, answer.err.msg);
                stop(&f);
        }
        buf_done(&status);
}

/* A status that is none of a final answer is none of ours. */
TEST(odd_status) {
        struct fixture f = {0};

        scripted_add(&f.rig.server,
                     (struct scripted_reply){.response = scripted_http(101, "", "{}")});
        start(&f);
        struct kube_answer answer = get(&f, (struct kube_request){0});
        assert_int_not_equal(answer.outcome, KUBE_OK);
        assert_string_not_equal(answer.err.msg, "");
        stop(&f);
}

TEST(stream_is_answered) {
        struct fixture f = {0};

        scripted_add(&f.rig.server, (struct scripted_reply){.response = scripted_stream("x")});
        start(&f);
        assert_int_equal(get(&f, (struct kube_request){.on_data = on_data}).outcome, KUBE_OK);
        stop(&f);
}

static int64_t until(const void *userdata) {
        return *(const int64_t *)userdata;
}

/* Whichever ends first. */
TEST(fence_and_end) {
        static const struct {
                int64_t give_up_in_ms, until_in_ms;
                enum kube_outcome outcome;
        } rows[] = {
                {DEADLINE_MS, -1, KUBE_UNAVAILABLE},
                {-1, DEADLINE_MS, KUBE_UNAVAILABLE},
                {DEADLINE_MS, DEADLINE_MS, KUBE_OK},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {0};
                if (rows[i].outcome == KUBE_OK)
                        scripted_add(
                                &f.rig.server,
                                (struct scripted_reply){.response = scripted_http(200, "", "{}")});
                start(&f);
                int64_t until_mono_ms = loop_now_mono_ms(f.rig.loop) + rows[i].until_in_ms;
                struct kube_answer answer = get(
                        &f, (struct kube_request){.give_up_mono_ms = loop_now_mono_ms(f.rig.loop) +
                                                                     rows[i].give_up_in_ms,
                                                  .fence = {until, &until_mono_ms}});
                assert_int_equal(answer.outcome, rows[i].outcome);
                assert_int_equal(atomic_load(&f.rig.server.served), f.rig.server.count);
                assert_int_equal(atomic_load(&f.rig.server.surprises), 0);
                stop(&f);
        }
}

/* Once the server has answered, its address is right, and it is the server that fails. */
TEST(asks_about_the_address_of_an_unreachable_server) {
        for (int is_known = 0; is_known <= 1; is_known++) {
                struct fixture f = {0};
                if (is_known)
                        answer(&f, "GET /x ", scripted_http(200, "", "{}"), false);
                start(&f);
                if (is_known)
                        assert_int_equal(get(&f, (struct kube_request){0}).outcome, KUBE_OK);
                scripted_server_stop(&f.rig.server);

                struct kube_answer refusal = get(&f, (struct kube_request){0});
                assert_int_equal(refusal.outcome, KUBE_UNAVAILABLE);
                assert_int_equal(refusal.failure, HTTP_CONNECT);
                assert_non_null(strstr(refusal.err.msg, "127.0.0.1:"));
                bool asks = strstr(refusal.err.msg, "; are the API server's host and port right?");
                assert_int_equal(asks, !is_known);

                f.rig.server = (struct scripted_server){0};
                scripted_server_start(&f.rig.server);
                stop(&f);
        }
}
