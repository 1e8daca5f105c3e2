/* Which flags and variables a program in a pod has, and which of the pod's containers it is. */
#include "tests/unit/fixture/test.h"

#include "base/attributes.h"
#include "base/buf.h"
#include "base/mem.h"
#include "cli/cluster/program_flags.h"
#include "codec/json.h"

/* With ' in place of "; owned by the caller. */
static json_t *parse(const char *text) {
        _cleanup_(freep) char *copy = xstrdup(text);
        json_t *json = NULL;

        for (char *at = copy; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        assert_int_equal(json_parse(copy, strlen(copy), &json, NULL), 0);
        return json;
}

#define MAPS                                                                                       \
        "{'items': [7, {'metadata': {'name': 'load'}, 'data': {'PLIMSOLL_PORT': '1', "             \
        "'PORT': '2', 'odd': 7}}]}"

TEST(texts) {
        static const struct {
                const char *container;
                enum program_flag flag;
                const char *text; /* NULL: not set */
        } rows[] = {
                {"{}", FLAG_LEASE_NAME, "plimsoll-controller"},
                {"7", FLAG_LEASE_NAME, "plimsoll-controller"},
                {"{}", FLAG_PORT, NULL},
                {"{'args': ['--port=1', '--port', '2']}", FLAG_PORT, "2"},
                {"{'args': ['--port', 7, {}, '2']}", FLAG_PORT, "2"},
                {"{'args': 'a', 'env': {}, 'envFrom': 7, 'command': 8}", FLAG_PORT, NULL},
                {"{'command': ['/a/plimsoll-extender', '--port=1']}", FLAG_PORT, "1"},
                {"{'command': ['tini', '--', 'plimsoll-extender'], 'args': ['--port=1']}",
                 FLAG_PORT, "1"},
                {"{'command': ['tini', '--port=9', '--'], "
                 "'args': ['plimsoll-extender', '--port=1']}",
                 FLAG_PORT, "1"},
                /* The command line decides; an empty variable counts as unset. */
                {"{'args': ['--port=1'], 'env': [{'name': 'PLIMSOLL_PORT', 'value': '2'}]}",
                 FLAG_PORT, "1"},
                {"{'env': [{'name': 'PLIMSOLL_PORT', 'value': '1'}, "
                 "{'name': 'PLIMSOLL_PORT', 'value': '2'}]}",
                 FLAG_PORT, "2"},
                {"{'env': [7, {'name': 7}, {'name': 'PLIMSOLL_LEADER_ELECT_RESOURCE_NAME'}]}",
                 FLAG_LEASE_NAME, "plimsoll-controller"},
                /* References. */
                {"{'args': ['--port=$(A)'], 'env': [{'name': 'A', 'value': '8$(B)'}]}", FLAG_PORT,
                 "8$(B)"},
                {"{'args': ['--port=$(A)$(A)'], 'env': [{'name': 'B', 'value': '1'}, "
                 "{'name': 'A', 'value': '8$(B)'}]}",
                 FLAG_PORT, "8181"},
                {"{'args': ['--port=$$(A)$(A', '--port'], 'env': [{'name': 'A', 'value': '1'}]}",
                 FLAG_PORT, "$(A)$(A"},
                {"{'args': ['--port=$1$$2$'], 'env': [{'name': '', 'value': '1'}]}", FLAG_PORT,
                 "$1$2$"},
                {"{'args': ['--port=$()'], 'env': [{'name': '', 'value': '1'}]}", FLAG_PORT, "$()"},
                {"{'args': ['--leader-elect-resource-namespace=$(A)'], 'env': [{'name': 'A', "
                 "'valueFrom': {'fieldRef': {'fieldPath': 'metadata.namespace'}}}]}",
                 FLAG_LEASE_NAMESPACE, "shop"},
                /* ConfigMaps, and what cannot be read. */
                {"{'envFrom': [{'configMapRef': {'name': 'load'}}]}", FLAG_PORT, "1"},
                {"{'envFrom': [{'prefix': 'PLIMSOLL_', 'configMapRef': {'name': 'load'}}]}",
                 FLAG_PORT, "2"},
                {"{'envFrom': [{'secretRef': {'name': 'load'}}]}", FLAG_PORT, "$("},
                {"{'envFrom': [{'secretRef': {'name': 'load'}}], "
                 "'env': [{'name': 'PLIMSOLL_PORT', 'value': '3'}]}",
                 FLAG_PORT, "3"},
                {"{'env': [{'name': 'PLIMSOLL_PORT', 'valueFrom': "
                 "{'configMapKeyRef': {'name': 'load', 'key': 'PORT'}}}]}",
                 FLAG_PORT, "2"},
                {"{'env': [{'name': 'PLIMSOLL_PORT', 'valueFrom': "
                 "{'configMapKeyRef': {'name': 'load', 'key': 'none'}}}]}",
                 FLAG_PORT, "$("},
                {"{'env': [{'name': 'PLIMSOLL_PORT', 'valueFrom': "
                 "{'fieldRef': {'fieldPath': 'status.hostIP'}}}]}",
                 FLAG_PORT, "$("},
                {"{'envFrom': [{'secretRef': {'name': 'load'}}], "
                 "'env': [{'name': 'PLIMSOLL_LEADER_ELECT_RESOURCE_NAME', 'value': ''}]}",
                 FLAG_LEASE_NAME, "plimsoll-controller"},
                {"{'command': ['sh', '-c', 'plimsoll-extender --port=1']}", FLAG_PORT, "$("},
                {"{'args': ['two words', '--port=1']}", FLAG_PORT, "1"},
        };
        json_auto_t *maps = parse(MAPS);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(program_flags_done) struct program_flags flags = {0};
                _cleanup_(freep) char *text = xasprintf("{'containers': [%s]}", rows[i].container);
                json_auto_t *spec = parse(text);
                program_flags_read(spec, PROGRAM_EXTENDER, "shop", maps, &flags);
                const char *found = flags.texts[rows[i].flag];
                bool is_hidden = rows[i].text && strstr(rows[i].text, "$(");
                if (!found != !rows[i].text || (found && strcmp(found, rows[i].text) != 0))
                        fail_msg("row %zu: %s", i, found ? found : "not set");
                assert_int_equal(program_flags_is_hidden(&flags, rows[i].flag), is_hidden);
                assert_true(program_flags_text(&flags, rows[i].flag) == (is_hidden ? NULL : found));
        }
}

TEST(values) {
        static const struct {
                const char *args;
                bool is_elected, has_kubelet;
                long long port;
        } rows[] = {
                {"", true, false, 7},
                {"'--leader-elect=f', '--metrics-source=kubelet', '--port=8'", false, true, 8},
                {"'--leader-elect', '--metrics-source=a,kubelet', '--port=x'", true, true, 7},
                {"'--leader-elect=no', '--metrics-source=kubelets,akubelet', '--port='", false,
                 false, 7},
                {"'--metrics-source=kubelet,b', '--leader-elect=$(A)'", false, true, 7},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(program_flags_done) struct program_flags flags = {0};
                _cleanup_(freep) char *text = xasprintf("{'containers': [{'args': [%s]}]}",
                                                        rows[i].args);
                json_auto_t *spec = parse(text);
                program_flags_read(spec, PROGRAM_CONTROLLER, "shop", NULL, &flags);
                assert_int_equal(program_flags_is_on(&flags, FLAG_LEADER_ELECT),
                                 rows[i].is_elected);
                assert_int_equal(program_flags_has_word(&flags, FLAG_METRICS_SOURCE, "kubelet"),
                                 rows[i].has_kubelet);
                assert_int_equal(program_flags_int(&flags, FLAG_PORT, 7), rows[i].port);
        }
}

TEST(container) {
        static const struct {
                const char *other, *ours;
        } rows[] = {
                {"{}", "{'image': 'a:5000/b/plimsoll-controller:1@sha256:0'}"},
                {"{'image': 'plimsoll-controller-mesh:1'}", "{'image': 'plimsoll-controller'}"},
                {"{'image': 'prometheus-operator'}", "{'image': 'plimsoll-controller'}"},
                {"{'image': 'plimsoll-controller:1', 'command': ['/usr/bin/kubectl-plimsoll']}",
                 "{'image': 'a:1', 'command': ['/bin/plimsoll-controller']}"},
                {"{'image': 'plimsoll-controller:1', 'command': ['/usr/bin/kubectl-plimsoll']}",
                 "{'image': 'plimsoll-controller:1'}"},
                {"{'image': 'a', 'args': ['run', 'plimsoll-controller']}",
                 "{'image': 'a', 'args': ['plimsoll-controller']}"},
                {"{'name': 'mesh'}", "{'name': 'controller'}"},
                {"{'args': ['--verbose']}", "{'args': [7, '--metrics-source', 'kubelet']}"},
                {"{'env': [{'name': 'A'}]}", "{'env': [7, {'name': 'PLIMSOLL_PATCH_QPS'}]}"},
                {"7", "{'name': 'controller'}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (size_t place = 0; place < 2; place++) {
                        _cleanup_(freep) char *text = xasprintf(
                                "{'containers': [%s, %s]}", place ? rows[i].other : rows[i].ours,
                                place ? rows[i].ours : rows[i].other);
                        json_auto_t *spec = parse(text);
                        const json_t *all = json_at(spec, "containers", NULL);
                        if (program_flags_container(spec, PROGRAM_CONTROLLER) !=
                            json_array_get(all, place))
                                fail_msg("row %zu, place %zu", i, place);
                }
        assert_null(program_flags_container(NULL, PROGRAM_CONTROLLER));
}

/* A pod of a server that means no good: nothing grows without bound. */
TEST(ceilings) {
        _cleanup_(program_flags_done) struct program_flags flags = {0}, others = {0};
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);

        buf_puts(&text, "{'containers': [{'env': [{'name': 'V0', 'value': 'xxxxxxxx'}");
        for (int i = 1; i < 40; i++)
                buf_printf(&text, ", {'name': 'V%d', 'value': '$(V%d)$(V%d)'}", i, i - 1, i - 1);
        buf_puts(&text, "], 'args': ['--port=$(V39)']}]}");
        json_auto_t *doubled = parse(text.data);
        program_flags_read(doubled, PROGRAM_EXTENDER, "shop", NULL, &flags);
        assert_true(program_flags_is_hidden(&flags, FLAG_PORT));

        buf_clear(&text);
        buf_puts(&text, "{'containers': [{'env': [{'name': 'A'}");
        for (int i = 0; i < 1000; i++)
                buf_printf(&text, ", {'name': 'A%d'}", i);
        buf_puts(&text, ", {'name': 'PLIMSOLL_PORT', 'value': '1'}]}]}");
        json_auto_t *many = parse(text.data);
        program_flags_read(many, PROGRAM_EXTENDER, "shop", NULL, &others);
        assert_true(program_flags_is_hidden(&others, FLAG_PORT));
        program_flags_done(&others);

        buf_clear(&text);
        buf_puts(&text, "{'containers': [{'args': ['a'");
        for (int i = 0; i < 1000; i++)
                buf_puts(&text, ", 'a'");
        buf_puts(&text, ", '--port=1']}]}");
        json_auto_t *words = parse(text.data);
        program_flags_read(words, PROGRAM_EXTENDER, "shop", NULL, &others);
        assert_true(program_flags_is_hidden(&others, FLAG_PORT));
}
