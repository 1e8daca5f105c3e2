/* Which annotations and labels are kept, and as what they come back. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "policy/annotation.h"
#include "policy/kept_texts.h"

static void check(const struct kept_texts *kept, const char *key, const char *expected) {
        const char *value = kept_texts_get(kept, key);

        if (!expected)
                assert_null(value);
        else if (!value || strcmp(value, expected) != 0)
                fail_msg("%s: %s", key, value ? value : "none");
}

TEST(what_is_kept) {
        static const char prefix[] = "load.example.com/";
        struct kept_texts kept = {0};
        json_auto_t *annotations = json_pack(
                "{s:s, s:s, s:s, s:s, s:i, s:s}", "load.example.com/cpu_usage_avg_5m", "0.5,T",
                "load.example.com/empty", "", "cpu_usage_avg_5m", "no prefix",
                "load.example.com/not a name", "x", "load.example.com/number", 5,
                "load.example.com/odd", "a\tb ~\xc3\xa9\x7f");

        check(&kept, "cpu_usage_avg_5m", NULL);
        assert_true(kept_texts_set_annotations(&kept, annotations, prefix));
        assert_false(kept_texts_set_annotations(&kept, annotations, prefix));
        check(&kept, "cpu_usage_avg_5m", "0.5,T");
        (void)json_object_set_new(annotations, "load.example.com/cpu_usage_avg_5m",
                                  json_string("0.6,T"));
        assert_true(
                kept_texts_set_annotations(&kept, annotations, prefix)); /* of the same length */
        check(&kept, "cpu_usage_avg_5m", "0.6,T");
        check(&kept, "empty", "");
        check(&kept, "not a name", NULL);
        check(&kept, "number", NULL);
        check(&kept, "odd", "a?b ~???");
        /* A value is no key. */
        check(&kept, "0.6,T", NULL);
        assert_true(kept_texts_set_annotations(&kept, NULL, prefix));
        check(&kept, "cpu_usage_avg_5m", NULL);
        assert_false(kept_texts_set_annotations(&kept, NULL, prefix));
        assert_true(kept_texts_set_annotations(&kept, annotations, prefix));
        kept_texts_done(&kept);
        check(&kept, "cpu_usage_avg_5m", NULL);
        kept_texts_done(&kept);
}

TEST(labels) {
        _cleanup_(kept_texts_done) struct kept_texts kept = {0};
        json_auto_t *labels = json_pack("{s:s, s:s, s:s, s:i, s:n, s:{}}", "kubernetes.io/os",
                                        "linux", "role", "", "", "x", "number", 1, "null",
                                        "object");

        assert_true(kept_texts_set_labels(&kept, labels));
        assert_false(kept_texts_set_labels(&kept, labels));
        check(&kept, "kubernetes.io/os", "linux");
        check(&kept, "role", "");
        check(&kept, "", NULL);
        check(&kept, "number", NULL);
        check(&kept, "null", NULL);
        assert_true(kept_texts_set_labels(&kept, NULL));
        check(&kept, "role", NULL);
}

/* Each value and a node have a ceiling. */
TEST(ceilings) {
        char text[1000], key[16];
        _cleanup_(kept_texts_done) struct kept_texts kept = {0};
        json_auto_t *annotations = json_object();

        memset(text, '1', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (int i = 0; i < 100; i++) {
                (void)snprintf(key, sizeof(key), "m%02d", i);
                (void)json_object_set_new(annotations, key, json_string(text));
        }
        (void)json_object_set_new(annotations, "short", json_string("1"));
        assert_true(kept_texts_set_annotations(&kept, annotations, ""));
        assert_in_range(kept.bytes, KEPT_TEXTS_MAX_BYTES - KEPT_TEXT_MAX_BYTES - 10,
                        KEPT_TEXTS_MAX_BYTES);
        assert_int_equal(strlen(kept_texts_get(&kept, "m00")), KEPT_TEXT_MAX_BYTES);
        check(&kept, "m99", NULL);
        check(&kept, "short", NULL); /* it would fit, but comes after one that does not */
}

/* Whichever byte is one too many, what does not fit whole is left out. */
TEST(what_does_not_fit) {
        enum { KEY_LEN = 3, ENTRY = KEY_LEN + 1 + ANNOTATION_MAX_BYTES + 1 };
        char text[ANNOTATION_MAX_BYTES + 1] = "", key[16];

        for (size_t first_len = 0; first_len < ANNOTATION_MAX_BYTES; first_len++) {
                _cleanup_(kept_texts_done) struct kept_texts kept = {0};
                json_auto_t *annotations = json_object();
                memset(text, '1', sizeof(text) - 1);
                (void)json_object_set_new(annotations, "m", json_stringn(text, first_len));
                for (int i = 100; i < 100 + KEPT_TEXTS_MAX_BYTES / ENTRY + 1; i++) {
                        (void)snprintf(key, sizeof(key), "%d", i);
                        (void)json_object_set_new(annotations, key, json_string(text));
                }
                assert_true(kept_texts_set_annotations(&kept, annotations, ""));
                assert_in_range(kept.bytes, KEPT_TEXTS_MAX_BYTES - ENTRY, KEPT_TEXTS_MAX_BYTES);
                assert_int_equal(kept.text[kept.bytes - 1], '\0');
                assert_int_equal((kept.bytes - strlen("m") - 1 - first_len - 1) % ENTRY, 0);
        }
}
