/*
 * Answers of a real API server, recorded in JSON and in protobuf (tests/data/kube-proto): what is
 * read of one is in the other. And those that no server sends.
 */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "codec/json.h"
#include "kube/kube_proto.h"
#include "kube/list_page.h"
#include "kube/watch_stream.h"
#include "tests/unit/fixture/proto_encode.h"
#include "tests/unit/fixture/rows.h"

static char *read_recorded(const char *name, size_t *ret_len) {
        _cleanup_(freep) char *path = xasprintf("%s/kube-proto/%s", TEST_DATA, name);
        FILE *file = fopen(path, "rb");
        char *data = xmalloc(PROTO_TEST_MAX_BYTES);

        assert_non_null(file);
        *ret_len = fread(data, 1, PROTO_TEST_MAX_BYTES, file);
        assert_true(*ret_len > 0 && *ret_len < PROTO_TEST_MAX_BYTES);
        (void)fclose(file);
        return data;
}

/* ---- What a table has of an object, from its JSON. */

/* Of a map's entry, or of a list's item by the member that is field 1. */
static bool is_kept(const struct proto_member *member, const char *key) {
        for (const char *const *wanted = member->keys; wanted && *wanted; wanted++)
                if (strcmp(*wanted, key) == 0)
                        return true;
        return !member->keys;
}

static const char *first_of(const struct proto_message *message, const json_t *object) {
        for (size_t i = 0; i < message->count; i++)
                if (message->members[i].number == 1)
                        return json_string_at(object, message->members[i].name, NULL);
        return "";
}

static json_t *project(const struct proto_message *message, const json_t *object);

static json_t *project_member(const struct proto_member *member, json_t *value) {
        json_t *result = member->kind == PROTO_LIST ? json_array() : json_object(), *item;
        const char *key;
        size_t i;

        switch (member->kind) {
        case PROTO_OBJECT:
                json_decref(result);
                return project(member->message, value);
        case PROTO_LIST:
                json_array_foreach (value, i, item)
                        if (!member->keys || is_kept(member, first_of(member->message, item)))
                                json_array_append_new(result, project(member->message, item));
                return result;
        case PROTO_TEXTS:
        case PROTO_QUANTITIES:
                json_object_foreach (value, key, item)
                        if (is_kept(member, key))
                                json_object_set(result, key, item);
                return result;
        case PROTO_STRING:
        case PROTO_BOOL:
        case PROTO_INT:
        case PROTO_TIME:
        case PROTO_STRINGS:
        case PROTO_QUANTITY:
                break;
        }
        json_decref(result);
        return json_incref(value);
}

static json_t *project(const struct proto_message *message, const json_t *object) {
        json_t *result = json_object();

        for (size_t i = 0; i < message->count; i++) {
                json_t *value = json_object_get(object, message->members[i].name);
                if (value)
                        json_object_set_new(result, message->members[i].name,
                                            project_member(&message->members[i], value));
        }
        return result;
}

/* Go writes what is empty in protobuf, and leaves it out in JSON. */
static bool is_empty(const json_t *value) {
        return json_is_null(value) || json_is_false(value) ||
               (json_is_object(value) && json_object_size(value) == 0) ||
               (json_is_array(value) && json_array_size(value) == 0);
}

static void prune(json_t *value) {
        const char *key;
        json_t *item;
        size_t i;
        void *next;

        json_array_foreach (value, i, item)
                prune(item);
        json_object_foreach_safe(value, next, key, item) {
                prune(item);
                if (is_empty(item))
                        json_object_del(value, key);
        }
}

static void compare(const char *text, size_t len, const json_t *recorded,
                    const struct proto_message *message) {
        json_auto_t *expected = project(message, recorded);
        json_t *read = NULL;

        assert_int_equal(json_parse(text, len, &read, NULL), 0);
        prune(expected);
        prune(read);
        if (!json_equal(read, expected))
                fail_msg("read %s\n\nnot %s", json_dumps(read, 0), json_dumps(expected, 0));
        json_decref(read);
}

/* ---- Lists. */

struct expected_list {
        const struct proto_message *message;
        json_t *items;
        size_t next;
};

static void compare_item(void *userdata, const char *text, size_t len) {
        struct expected_list *expected = userdata;

        compare(text, len, json_array_get(expected->items, expected->next++), expected->message);
}

static void compare_lists(const struct proto_message *message, const char *json_name,
                          const char *proto_name) {
        struct list_page page = {0};
        struct error err = ERROR_NULL;
        json_t *list = NULL;
        size_t len;

        char *json = read_recorded(json_name, &len);
        assert_int_equal(json_parse(json, len, &list, NULL), 0);
        struct expected_list expected = {message, json_object_get(list, "items"), 0};
        char *data = read_recorded(proto_name, &len);
        if (list_page_parse(data, len, message, compare_item, &expected, &page, &err) < 0)
                fail_msg("%s", err.msg);
        assert_true(page.count > 0);
        assert_int_equal(page.count, json_array_size(expected.items));
        assert_int_equal(expected.next, page.count);
        assert_string_equal(page.resource_version,
                            json_string_at(list, "metadata", "resourceVersion", NULL));
        const char *next = json_string_at(list, "metadata", "continue", NULL);
        assert_string_equal(page.continue_token ? page.continue_token : "", next ? next : "");
        list_page_done(&page);
        json_decref(list);
        free(json);
        free(data);
}

TEST(recorded_lists) {
        compare_lists(&kube_proto_pod, "list.json", "list.pb");
        compare_lists(&kube_proto_pod, "page.json", "page.pb");
        compare_lists(&kube_proto_node, "nodes.json", "nodes.pb");
}

/* Every field of the table is somewhere in the recorded objects, or its number would be unproven.
 */
static size_t count_unseen(const struct proto_message *message, const json_t *objects) {
        size_t unseen = 0, i;
        json_t *object;

        for (size_t m = 0; m < message->count; m++) {
                const struct proto_member *member = &message->members[m];
                json_auto_t *values = json_array();
                json_array_foreach (objects, i, object) {
                        json_t *value = json_object_get(object, member->name);
                        if (member->kind == PROTO_LIST && value)
                                json_array_extend(values, value);
                        else if (value && !is_empty(value))
                                json_array_append(values, value);
                }
                if (json_array_size(values) == 0)
                        print_error("%s is in no recorded object\n", member->name);
                unseen += json_array_size(values) == 0;
                if (member->message)
                        unseen += count_unseen(member->message, values);
        }
        return unseen;
}

static void find_all(const struct proto_message *message, const char *json_name) {
        json_t *list = NULL;
        size_t len;

        char *json = read_recorded(json_name, &len);
        assert_int_equal(json_parse(json, len, &list, NULL), 0);
        assert_int_equal(count_unseen(message, json_object_get(list, "items")), 0);
        json_decref(list);
        free(json);
}

TEST(recorded_all) {
        find_all(&kube_proto_pod, "list.json");
        find_all(&kube_proto_node, "nodes.json");
}

static void no_item(void *userdata, const char *text, size_t len) {
        ++*(size_t *)userdata;
}

static int parse_list(const struct proto_message *message, const char *data, size_t len,
                      size_t *ret_items) {
        struct list_page page = {0};
        struct error err = ERROR_NULL;
        char *copy = xmalloc(len);

        if (len > 0)
                memcpy(copy, data, len);
        *ret_items = 0;
        int r = list_page_parse(copy, len, message, no_item, ret_items, &page, &err);
        assert_int_equal(r < 0, err.msg[0] != '\0');
        list_page_done(&page);
        free(copy);
        return r;
}

static void cut_list(const struct proto_message *message, const char *proto_name, size_t count) {
        size_t len, items;

        char *data = read_recorded(proto_name, &len);
        /* Behind the object stand two empty fields of the envelope. */
        for (size_t cut = 0; cut < len - 4; cut++) {
                assert_int_equal(parse_list(message, data, cut, &items), -EBADMSG);
                assert_int_equal(items, 0);
        }
        assert_int_equal(parse_list(message, data, len, &items), 0);
        assert_int_equal(items, count);
        free(data);
}

/* A list that was cut off yields nothing. */
TEST(cut_lists) {
        cut_list(&kube_proto_pod, "list.pb", 6);
        cut_list(&kube_proto_node, "nodes.pb", 3);
}

TEST(refused_lists) {
        for (struct rows rows = rows_open("proto-lists.tsv"); rows_next(&rows);) {
                int code = strcmp(rows.cells[0], "read") == 0 ? 0 : -EBADMSG;
                const struct proto_message *message = strncmp(rows.cells[2], "Node", 4) == 0
                                                              ? &kube_proto_node
                                                              : &kube_proto_pod;
                struct buf meta = BUF_INIT(1 << 10), list = BUF_INIT(1 << 10);
                struct buf data = BUF_INIT(1 << 10);
                size_t items;
                proto_put_text(&meta, 2, rows_unescape(rows.cells[3]));
                proto_put_text(&meta, 3, rows.cells[4]);
                if (strcmp(rows.cells[5], "-") != 0)
                        proto_put_bytes(&list, 2, rows.cells[5], rows_bytes(rows.cells[5]));
                proto_put_message(&list, 1, &meta);
                proto_put_envelope(&data, rows.cells[2], list.data, list.len);
                int r = parse_list(message, data.data, data.len, &items);
                if (r != code || items != strtoul(rows.cells[1], NULL, 10))
                        fail_msg("%s gave %d and %zu items", rows.place, r, items);
                buf_done(&list);
                buf_done(&data);
        }
}

/* What no server sends as the frame of a list: whatever its items are, they are not reported. */
TEST(refused_list_frames) {
        for (struct rows rows = rows_open("proto-list-frames.tsv"); rows_next(&rows);) {
                int code = strcmp(rows.cells[0], "read") == 0 ? 0 : -EBADMSG;
                size_t kind_bytes = strtoul(rows.cells[1], NULL, 10), items;
                struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES);
                _cleanup_(freep) char *kind = xcalloc(1, kind_bytes + 1);
                memset(kind, 'x', kind_bytes);
                memcpy(kind + kind_bytes - 4, "List", 4);
                proto_put_envelope(&data, kind, rows.cells[2], rows_bytes(rows.cells[2]));
                int r = parse_list(&kube_proto_pod, data.data, data.len, &items);
                if (r != code || items != 0)
                        fail_msg("%s gave %d and %zu items", rows.place, r, items);
                buf_done(&data);
        }
}

/* ---- Watches. */

struct expected_watch {
        const struct proto_message *message;
        const char *at; /* in lines of JSON */
};

static bool compare_event(void *userdata, const struct watch_event *event) {
        struct expected_watch *expected = userdata;
        const char *end = strchr(expected->at, '\n');
        json_t *line = NULL;

        assert_non_null(end);
        assert_int_equal(json_parse(expected->at, (size_t)(end - expected->at), &line, NULL), 0);
        const json_t *object = json_object_get(line, "object");
        const char *version = json_string_at(object, "metadata", "resourceVersion", NULL);
        assert_string_equal(watch_event_type_name(event->type), json_string_at(line, "type", NULL));
        assert_string_equal(event->resource_version ? event->resource_version : "",
                            version ? version : "");
        compare(event->object, event->object_bytes, object,
                event->type == WATCH_ERROR ? &kube_proto_status : expected->message);
        expected->at = end + 1;
        json_decref(line);
        return true;
}

TEST(recorded_watches) {
        static const struct {
                const struct proto_message *message;
                const char *name;
        } rows[] = {
                {&kube_proto_pod, "watch"},
                {&kube_proto_pod, "bookmark"},
                {&kube_proto_pod, "expired"},
                {&kube_proto_node, "node-watch"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *json_name = xasprintf("%s.json", rows[i].name);
                _cleanup_(freep) char *proto_name = xasprintf("%s.pb", rows[i].name);
                struct expected_watch expected = {.message = rows[i].message};
                struct watch_stream stream;
                size_t json_len, len;
                char *json = read_recorded(json_name, &json_len);
                char *data = read_recorded(proto_name, &len);
                json[json_len] = '\0';
                expected.at = json;
                watch_stream_init(&stream, rows[i].message, WATCH_LINE_MAX_BYTES, compare_event,
                                  &expected);
                assert_int_equal(watch_stream_feed(&stream, data, len), 0);
                assert_string_equal(expected.at, "");
                watch_stream_done(&stream);
                free(json);
                free(data);
        }
}

/* ---- Other answers. */

TEST(recorded_status) {
        struct buf text = BUF_INIT(1 << 10);
        size_t len;

        char *data = read_recorded("refused.pb", &len);
        assert_true(kube_proto_is(data, len));
        assert_true(kube_proto_object(&text, &kube_proto_pod, data, len));
        assert_string_equal(text.data, "{\"message\":\"field label not supported: spec.color\","
                                       "\"reason\":\"BadRequest\",\"code\":400}");
        buf_done(&text);
        free(data);
        /* Of another kind, with a name as long: as what was asked for. */
        static const char binder[] = "k8s\0\x0a\x08\x12\x06"
                                     "Binder\x12\x05\x0a\x03\x0a\x01n";
        assert_true(kube_proto_object(&text, &kube_proto_pod, binder, sizeof(binder) - 1));
        assert_string_equal(text.data, "{\"metadata\":{\"name\":\"n\"}}");
        buf_done(&text);
}

TEST(envelopes) {
        for (struct rows rows = rows_open("proto-envelopes.tsv"); rows_next(&rows);) {
                const char *kind = rows.cells[1], *object = rows.cells[2];
                struct kube_proto opened;
                bool is_good = strcmp(kind, "-") != 0;
                if (kube_proto_open(rows.cells[0], rows_bytes(rows.cells[0]), &opened) != is_good)
                        fail_msg("%s", rows.place);
                if (!is_good)
                        continue;
                assert_int_equal(opened.kind.len, strlen(kind));
                assert_memory_equal(opened.kind.bytes, kind, opened.kind.len);
                assert_int_equal(opened.object.len, strlen(object));
                assert_memory_equal(opened.object.bytes, object, opened.object.len);
        }
}
