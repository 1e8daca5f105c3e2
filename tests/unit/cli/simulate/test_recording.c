/* What of a node is recorded. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/simulate/recording.h"
#include "codec/json.h"

#define AT "2026-07-23T12:00:00Z"

static const struct {
        const char *prefix, *node, *recorded; /* NULL: nothing */
} cases[] = {
        {"", "{}", NULL},
        {"", "{\"metadata\": {\"name\": 1}}", NULL},
        {"", "{\"metadata\": {\"name\": \"a\", \"annotations\": 1}, \"status\": {\"capacity\": 1}}",
         "{\"name\": \"a\", \"annotations\": {}, \"capacity\": {}}"},
        /* What is or should be a reading, of any policy, and labels; of the rest nothing. */
        {"",
         "{\"metadata\": {\"name\": \"a\", \"labels\": {\"team\": \"x\"}, \"annotations\": {"
         "\"cpu_usage_avg_5m\": \"much\", \"gpus\": \"0.5," AT "\", \"node_hot_value\": \"1\","
         "\"node_covered_seconds\": \"90\","
         "\"cpu_usage_max_avg_1h_peak\": \"0.5," AT "\", \"token\": \"hunter2\","
         "\"mem_usage_avg_5m\": 3, \"other.io/x\": \"0.5," AT "\"}},"
         " \"status\": {\"capacity\": {\"cpu\": \"8\", \"memory\": \"1Gi\", \"pods\": \"9\"}}}",
         "{\"name\": \"a\", \"annotations\": {\"cpu_usage_avg_5m\": \"much\", \"gpus\": \"0.5," AT
         "\", \"node_hot_value\": \"1\", \"node_covered_seconds\": \"90\"}, \"labels\": {\"team\": "
         "\"x\"}, \"capacity\": {\"cpu\": "
         "\"8\", \"memory\": \"1Gi\"}}"},
        {"x.io/",
         "{\"metadata\": {\"name\": \"a\", \"annotations\": {\"cpu_usage_avg_5m\": \"1," AT
         "\", \"x.io/cpu_usage_avg_5m\": \"2," AT "\"}}}",
         "{\"name\": \"a\", \"annotations\": {\"x.io/cpu_usage_avg_5m\": \"2," AT
         "\"}, \"capacity\": {}}"},
};

TEST(node) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct node_table_options options = {.annotation_prefix = cases[i].prefix};
                json_auto_t *node = json_loads(cases[i].node, 0, NULL);
                json_auto_t *found = recording_node(node, &options);
                assert_non_null(node);
                if (!cases[i].recorded) {
                        assert_null(found);
                        continue;
                }
                json_auto_t *wanted = json_loads(cases[i].recorded, 0, NULL);
                assert_true(json_equal(found, wanted));
        }
}

#define START                                                                                      \
        "\"kind\": \"PlimsollRecording\", \"version\": 2, \"at\": \"" AT "\", \"annotations\": {"  \
        "\"prefix\": \"\", \"timezone\": \"UTC\", \"unit\": \"ratio\"}, \"policy\": {\"from\": "   \
        "\"x\", "                                                                                  \
        "\"text\": \"y\"}"
#define ANNOTATIONS(members)                                                                       \
        "\"kind\": \"PlimsollRecording\", \"version\": 2, \"at\": \"" AT                           \
        "\", \"annotations\": {" members "}, \"policy\": {\"from\": \"x\", \"text\": \"y\"}"
#define LISTS(nodes, pods, decisions, notes)                                                       \
        ", \"nodes\": " nodes ", \"pods\": " pods ", \"decisions\": " decisions                    \
        ", \"notes\": " notes
#define EMPTY LISTS("[]", "[]", "[]", "[]")
#define NODE "{\"name\": \"a\", \"annotations\": {}}"
#define POD(members) "{\"node\": \"a\", \"bound\": \"" AT "\", " members "}"

TEST(documents) {
        static const struct {
                const char *members, *problem; /* NULL: fine */
        } rows[] = {
                {START EMPTY, NULL},
                {START LISTS("[" NODE "]", "[" POD("\"cores\": 0.5, \"bytes\": 1") "]",
                             "[{\"node\": null, \"decision\": {}}]", "[\"why\"]"),
                 NULL},
                {"", "kind: expected PlimsollRecording"},
                {"\"kind\": \"Pod\"", "kind: expected PlimsollRecording"},
                {"\"kind\": \"PlimsollRecording\", \"version\": 1", "version: expected 2"},
                {"\"kind\": \"PlimsollRecording\", \"version\": 2, \"at\": \"now\"",
                 "at: 'now': expected a time"},
                {"\"kind\": \"PlimsollRecording\", \"version\": 2", "at: expected a string"},
                {ANNOTATIONS("") EMPTY, "annotations.prefix: expected a string"},
                {ANNOTATIONS("\"prefix\": \"\"") EMPTY, "annotations.timezone: expected a string"},
                {ANNOTATIONS("\"prefix\": \"\", \"timezone\": \"UTC\", \"unit\": 1") EMPTY,
                 "annotations.unit: expected a string"},
                {ANNOTATIONS("\"prefix\": \"\", \"timezone\": \"UTC\", \"unit\": \"x\"") EMPTY,
                 "annotations.unit: 'x': expected ratio or percent"},
                {START, "nodes: expected a list"},
                {START LISTS("{}", "[]", "[]", "[]"), "nodes: expected a list"},
                {START LISTS("[1]", "[]", "[]", "[]"), "nodes[0].annotations: expected an object"},
                {START LISTS("[{\"annotations\": []}]", "[]", "[]", "[]"),
                 "nodes[0].annotations: expected an object"},
                {START LISTS("[{\"annotations\": {}}]", "[]", "[]", "[]"),
                 "nodes[0].name: expected a string"},
                {START LISTS("[]", "[{}]", "[]", "[]"), "pods[0].node: expected a string"},
                {START LISTS("[]", "[{\"node\": \"a\", \"bound\": \"x\"}]", "[]", "[]"),
                 "pods[0].bound: 'x': expected a time"},
                {START LISTS("[]", "[" POD("\"bytes\": 1") "]", "[]", "[]"),
                 "pods[0]: expected cores"},
                {START LISTS("[]", "[" POD("\"cores\": -1, \"bytes\": 1") "]", "[]", "[]"),
                 "pods[0]: expected cores"},
                {START LISTS("[]", "[" POD("\"cores\": 1e300, \"bytes\": 1") "]", "[]", "[]"),
                 "pods[0]: expected cores"},
                {START LISTS("[]", "[" POD("\"cores\": 1, \"bytes\": \"1\"") "]", "[]", "[]"),
                 "pods[0]: expected cores"},
                {START LISTS("[]", "[]", "[{}]", "[]"),
                 "decisions[0].decision: expected an object"},
                {START LISTS("[]", "[]", "[{\"decision\": 1}]", "[]"),
                 "decisions[0].decision: expected an object"},
                {START LISTS("[]", "[]", "[]", "[null]"), "notes[0]: expected a string"},
                {START LISTS("[]", "null", "[]", "[]"), NULL},
                {START LISTS("[]", "7", "[]", "[]"), "pods: expected a list"},
                {START ", \"nodes\": []", "pods: expected a list"},
                {START EMPTY ", \"estimate\": null", NULL},
                {START EMPTY ", \"estimate\": {}", NULL},
                {START EMPTY ", \"estimate\": []", "estimate: expected an object or null"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf("{%s}", rows[i].members);
                json_auto_t *root = json_loads(text, 0, NULL);
                struct recording recording = {0};
                struct error err = ERROR_NULL;
                assert_non_null(root);
                int r = recording_from_json(root, &recording, &err);
                assert_int_equal(r, rows[i].problem ? -EINVAL : 0);
                if (rows[i].problem && !strstr(err.msg, rows[i].problem))
                        fail_msg("%s\n%s", err.msg, text);
                recording_done(&recording);
        }
}

/* A name that no node can have, or that was there before. */
TEST(table) {
        static const char *const nodes[] = {"[" NODE ", " NODE "]",
                                            "[{\"name\": \"\", \"annotations\": {}}]"};
        const struct node_table_options options = {.annotation_prefix = ""};

        for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
                _cleanup_(freep) char *text = xasprintf("{" START LISTS("%s", "[]", "[]", "[]") "}",
                                                        nodes[i]);
                json_auto_t *root = json_loads(text, 0, NULL);
                struct recording recording = {0};
                struct error err = ERROR_NULL;
                assert_int_equal(recording_from_json(root, &recording, &err), 0);
                _cleanup_(node_table_freep) struct node_table *table = node_table_new(
                        &options, policy_default(), recording.at_unix_ms);
                assert_int_equal(recording_put_nodes(&recording, table, &err), -EINVAL);
                assert_non_null(strstr(err.msg, "is a duplicate or not a valid node name"));
                recording_done(&recording);
        }
}

/* An unread node without pods is known to be idle; if nobody has listed pods, it is not. */
TEST(pods_that_were_not_listed) {
        static const char *const pods[] = {"[]", "null"};
        const struct node_table_options options = {.annotation_prefix = ""};

        for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
                _cleanup_(freep) char *text = xasprintf(
                        "{" START LISTS("[{\"name\": \"a\", \"annotations\": {}, \"capacity\": "
                                        "{\"cpu\": \"8\", \"memory\": \"1Gi\"}}]",
                                        "%s", "[]", "[]") "}",
                        pods[i]);
                json_auto_t *root = json_loads(text, 0, NULL);
                struct recording recording = {0};
                struct error err = ERROR_NULL;
                assert_int_equal(recording_from_json(root, &recording, &err), 0);
                _cleanup_(node_table_freep) struct node_table *table = node_table_new(
                        &options, policy_default(), recording.at_unix_ms);
                assert_int_equal(recording_put_nodes(&recording, table, &err), 0);
                assert_null(recording_estimate(&recording, table, false, &err));
                node_table_publish(table, recording.at_unix_ms);
                struct node_snapshot *snapshot = node_table_acquire(table);
                assert_int_equal(snapshot->nodes.has_missing, i == 1);
                node_snapshot_unref(snapshot);
                recording_done(&recording);
        }
}

/* Nothing is left beside a path that cannot be written. */
TEST(save) {
        char directory[] = "/tmp/test-recording-XXXXXX";
        json_auto_t *root = json_object();
        struct recording recording = {0};
        struct error err = ERROR_NULL;

        assert_non_null(mkdtemp(directory));
        _cleanup_(freep) char *path = xasprintf("%s/file", directory);
        _cleanup_(freep) char *below = xasprintf("%s/file/below", directory);
        assert_int_equal(recording_save(root, path, &err), 0);
        assert_int_equal(recording_load(path, &recording, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "/file: kind: expected PlimsollRecording"));
        assert_int_equal(recording_save(root, below, &err), -ENOTDIR);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(recording_save(root, path, &err), -EISDIR);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(rmdir(directory), 0);
}

/* The file of before stays when the device is full, whatever of the text has been written then. */
TEST(save_without_room) {
        enum { BUFFER = 4096, AROUND = 16, LONG = 3 * BUFFER };
        static char filler[LONG + 1];
        char directory[] = "/tmp/test-recording-XXXXXX";
        json_auto_t *before = json_pack("{s:i}", "before", 1);
        struct rlimit had, none;

        memset(filler, 'x', LONG);
        assert_non_null(mkdtemp(directory));
        _cleanup_(freep) char *path = xasprintf("%s/file", directory);
        assert_int_equal(recording_save(before, path, NULL), 0);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &had), 0);
        none = (struct rlimit){0, had.rlim_max};
        (void)signal(SIGXFSZ, SIG_IGN);
        /* Also where its last byte is the first that has no place in the buffer. */
        for (size_t i = 0; i <= AROUND; i++) {
                size_t len = i < AROUND ? BUFFER - i : LONG;
                json_auto_t *root = json_pack("[s]", filler + LONG - len);
                struct error err = ERROR_NULL;
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
                int r = recording_save(root, path, &err);
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
                assert_int_equal(r, -EFBIG);
                assert_non_null(strstr(err.msg, "/file: cannot write: "));
                json_auto_t *kept = json_load_file(path, 0, NULL);
                assert_true(json_equal(kept, before));
        }
        (void)signal(SIGXFSZ, SIG_DFL);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(directory), 0); /* nothing else is in it */
}
