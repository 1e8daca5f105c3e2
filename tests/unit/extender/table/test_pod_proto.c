/* A Pod in protobuf, as the watch hands it on, says what the same Pod in JSON says. */
#include "tests/unit/fixture/test.h"

#include "kube/kube_proto.h"
#include "tests/unit/fixture/full_size.h"
#include "tests/unit/fixture/pod_property.h"
#include "tests/unit/fixture/proto_encode.h"

static const char *one_of(const char *const *texts, size_t count) {
        return texts[random_below((int64_t)count)];
}

/* A value for a member of this name. */
static json_t *make_text(const char *name) {
        static const char *const kinds[] = {"ReplicaSet", "Job", "DaemonSet", "", "TaskRun"};
        static const char *const names[] = {"web-7d9c5b", "nightly-29012345", "db", "\xc3\xbc", ""};
        static const char *const phases[] = {"Running", "Succeeded", "Failed", "Pending", ""};
        static const char *const types[] = {"PodScheduled", "PodResizePending", "Ready"};
        static const char *const reasons[] = {"Infeasible", "Deferred"};
        static const char *const statuses[] = {"True", "True", "False"};
        static const char *const policies[] = {"Always", "OnFailure"};
        static const struct {
                const char *name;
                const char *const *texts;
                size_t count;
        } rows[] = {
                {"kind", kinds, ARRAY_LEN(kinds)},
                {"phase", phases, ARRAY_LEN(phases)},
                {"type", types, ARRAY_LEN(types)},
                {"status", statuses, ARRAY_LEN(statuses)},
                {"reason", reasons, ARRAY_LEN(reasons)},
                {"restartPolicy", policies, ARRAY_LEN(policies)},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return json_string(one_of(rows[i].texts, rows[i].count));
        return json_string(one_of(names, ARRAY_LEN(names)));
}

static const char *const amounts[] = {"250m", "1", "1Gi", "1500Mi", "0", "-1", "x", "1e99"};

static json_t *make_map(const struct proto_member *member) {
        static const char *const texts[] = {"7d9c5b", "", "x"};
        json_t *map = json_object();

        for (const char *const *key = member->keys; *key; key++)
                if (random_below(3) > 0)
                        json_object_set_new(
                                map, *key,
                                json_string(member->kind == PROTO_QUANTITIES
                                                    ? one_of(amounts, ARRAY_LEN(amounts))
                                                    : one_of(texts, ARRAY_LEN(texts))));
        json_object_set_new(map, "other", json_string("1"));
        return map;
}

static json_t *make_time(void) {
        char text[TIMESTAMP_MAX];

        timestamp_format_s(random_below(INT64_C(253402300800)) * 1000, text, sizeof(text));
        return random_below(8) > 0 ? json_string(text) : json_null();
}

static json_t *make_object(const struct proto_message *message);

static json_t *make_member(const struct proto_member *member) {
        json_t *list;

        switch (member->kind) {
        case PROTO_STRING:
                return make_text(member->name);
        case PROTO_BOOL:
                return json_boolean(random_below(2));
        case PROTO_INT:
                return json_integer(random_below(1000));
        case PROTO_TIME:
                return make_time();
        case PROTO_OBJECT:
                return make_object(member->message);
        case PROTO_LIST:
                list = json_array();
                for (int64_t i = random_below(4); i > 0; i--)
                        json_array_append_new(list, make_object(member->message));
                return list;
        case PROTO_STRINGS:
                list = json_array();
                for (int64_t i = random_below(4); i > 0; i--)
                        json_array_append_new(list, make_text(member->name));
                return list;
        case PROTO_QUANTITY:
                return json_string(one_of(amounts, ARRAY_LEN(amounts)));
        case PROTO_TEXTS:
        case PROTO_QUANTITIES:
                return make_map(member);
        }
        return NULL;
}

static json_t *make_object(const struct proto_message *message) {
        json_t *object = json_object();

        for (size_t i = 0; i < message->count; i++)
                if (random_below(8) > 0)
                        json_object_set_new(object, message->members[i].name,
                                            make_member(&message->members[i]));
        return object;
}

static void compare(const json_t *pod) {
        struct buf data = BUF_INIT(PROTO_TEST_MAX_BYTES), text = data;
        char *json = json_dumps(pod, 0);
        struct pod_facts from_json, from_proto;

        proto_put_object(&data, &kube_proto_pod, pod);
        assert_true(proto_json_write(&text, &kube_proto_pod, data.data, data.len));
        assert_true(pod_facts_skim(&from_json, json, strlen(json)));
        assert_true(pod_facts_skim(&from_proto, text.data, text.len));
        pod_facts_compare(&from_json, &from_proto);
        free(json);
        buf_done(&data);
        buf_done(&text);
}

TEST(random) {
        for (int i = 0, n = full_size(200000, 2000); i < n; i++) {
                json_auto_t *pod = make_object(&kube_proto_pod);
                compare(pod);
        }
}
