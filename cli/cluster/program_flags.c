#include "cli/cluster/program_flags.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "program/options.h"

enum { TEXT_MAX_BYTES = 4096, MAX_VARIABLES = 512, MAX_WORDS = 512 };

/* A reference to a variable. Kubernetes leaves it in the text if it cannot replace it. So do we if
 * we cannot read the variable, and a value with a reference left in it is hidden. */
#define REFERENCE "$("

#define TEXT(name, given)                                                                          \
        { name, .type = OPTION_STRING, .fallback = (given) }
#define SWITCH(name, given)                                                                        \
        { name, .type = OPTION_BOOL, .fallback = (given) }

/* Names and defaults are those of the programs' own tables; a test compares them. */
static const struct option_row rows[PROGRAM_FLAG_COUNT] = {
        [FLAG_LEADER_ELECT] = SWITCH("leader-elect", "true"),
        [FLAG_EVENTS] = SWITCH("events", "true"),
        [FLAG_LEASE_NAME] = TEXT("leader-elect-resource-name", "plimsoll-controller"),
        [FLAG_LEASE_NAMESPACE] = TEXT("leader-elect-resource-namespace", NULL),
        [FLAG_METRICS_SOURCE] = TEXT("metrics-source", "node-exporter"),
        [FLAG_NODE_ADDRESS_TYPES] = TEXT("node-address-types", "InternalIP,ExternalIP,Hostname"),
        [FLAG_NODE_SELECTOR] = TEXT("node-selector", NULL),
        [FLAG_TARGET_TEMPLATE] = TEXT("target-url-template", NULL),
        [FLAG_NODE_METRICS_TEMPLATE] = TEXT("node-metrics-url-template",
                                            "http://{address}:19101/metrics"),
        [FLAG_EXPORTERS] = {"exporter", .type = OPTION_LIST},
        [FLAG_PROMETHEUS_ADDRESS] = TEXT("prometheus-address", NULL),
        [FLAG_MASTER] = TEXT("master", NULL),
        [FLAG_NODE_EXPORTER_PORT] = TEXT("node-exporter-port",
                                         KUBE_PORT_TEXT(KUBE_PORT_NODE_EXPORTER)),
        [FLAG_KUBELET_INSECURE] = SWITCH("kubelet-insecure-skip-verify", NULL),
        [FLAG_KUBELET_CERTIFICATE] = TEXT("kubelet-client-certificate", NULL),
        [FLAG_ANNOTATION_PREFIX] = TEXT("annotation-prefix", ""),
        [FLAG_ANNOTATION_TIMEZONE] = TEXT("annotation-timezone", "UTC"),
        [FLAG_ANNOTATION_UNIT] = TEXT("annotation-unit", "ratio"),
        [FLAG_HEALTH_PORT] = TEXT("health-port", NULL),
        [FLAG_PORT] = TEXT("port", NULL),
        [FLAG_TLS_CERT_FILE] = TEXT("tls-cert-file", NULL),
        [FLAG_CLIENT_CA_FILE] = TEXT("client-ca-file", NULL),
        [FLAG_POLICY_PATH] = TEXT("policy-config-path", NULL),
        [FLAG_BIND] = SWITCH("bind", NULL),
};

/* ---- The container. */

/* "registry:5000/tools/plimsoll-controller:0.2.0@sha256:..." */
static bool is_image_of(const json_t *container, const char *program) {
        const char *image = json_string_at(container, "image", NULL);
        const char *name = image ? basename(image) : "";
        size_t len = strcspn(name, ":@");

        return len == strlen(program) && memcmp(name, program, len) == 0;
}

static bool is_program(const json_t *word, const char *program) {
        const char *text = json_string_value(word);

        return text && strcmp(basename(text), program) == 0;
}

/* The number of words up to and including the program's name; 0: the command does not have it. */
static size_t words_before(const json_t *command, const char *program) {
        for (size_t i = 0; i < json_array_size(command); i++)
                if (is_program(json_array_get(command, i), program))
                        return i + 1;
        return 0;
}

static bool is_flag_of_ours(const json_t *word) {
        char *text = (char *)(uintptr_t)json_string_value(word);

        for (size_t i = 0; text && i < PROGRAM_FLAG_COUNT; i++) {
                size_t at = 0;
                if (options_given(&(struct option_row){.name = rows[i].name, .type = OPTION_BOOL},
                                  &text, 1, &at))
                        return true;
        }
        return false;
}

static bool has_own_settings(const json_t *container) {
        const json_t *args = json_at(container, "args", NULL);
        const json_t *env = json_at(container, "env", NULL);

        for (size_t i = 0; i < json_array_size(args); i++)
                if (is_flag_of_ours(json_array_get(args, i)))
                        return true;
        for (size_t i = 0; i < json_array_size(env); i++) {
                const char *name = json_string_at(json_array_get(env, i), "name", NULL);
                if (name && strncmp(name, "PLIMSOLL_", strlen("PLIMSOLL_")) == 0)
                        return true;
        }
        return false;
}

/* How likely a container runs the program. */
static int likeness(const json_t *container, const char *program) {
        const json_t *command = json_at(container, "command", NULL);
        const char *name = json_string_at(container, "name", NULL);

        if (words_before(command, program) > 0 ||
            is_program(json_array_get(json_at(container, "args", NULL), 0), program))
                return 4;
        if (is_image_of(container, program))
                return json_array_size(command) == 0 ? 3 : 2;
        return has_own_settings(container) || (name && strstr(program, name)) ? 1 : 0;
}

const json_t *program_flags_container(const json_t *spec, const char *program) {
        const json_t *containers = json_at(spec, "containers", NULL), *best = NULL;
        int most = -1;

        for (size_t i = 0; i < json_array_size(containers); i++) {
                const json_t *container = json_array_get(containers, i);
                int like = likeness(container, program);
                if (like > most) {
                        best = container;
                        most = like;
                }
        }
        return best;
}

/* ---- Its environment. */

struct environment {
        const char *namespace;
        const json_t *config_maps;
        json_t *variables; /* by name; owned */
        bool has_unread;   /* there are other variables, which cannot be read */
};

static void environment_done(struct environment *environment) {
        json_decref(environment->variables);
}

/* A later variable replaces an earlier one of the same name.
 * @text: consumed */
static void add_variable(struct environment *environment, const char *name, char *text) {
        if (json_object_size(environment->variables) < MAX_VARIABLES)
                json_object_set_new_nocheck(environment->variables, name,
                                            json_string_nocheck(text));
        else
                environment->has_unread = true;
        free(text);
}

/* Borrowed; NULL: not set. */
static const char *find_variable(const struct environment *environment, const char *name,
                                 size_t len) {
        _cleanup_(freep) char *key = xmemdup0(name, len);

        return json_string_at(environment->variables, key, NULL);
}

/* Replace each $(NAME) by its variable. A text that grows too long is hidden. Return: owned by the
 * caller */
static char *expand(const struct environment *environment, const char *text) {
        struct buf out = BUF_INIT(TEXT_MAX_BYTES);

        while (*text) {
                size_t plain = strcspn(text, "$");
                size_t name_len = strncmp(text + plain, REFERENCE, 2) == 0
                                          ? strcspn(text + plain + 2, ")")
                                          : 0;
                const char *value = name_len > 0 && text[plain + 2 + name_len]
                                            ? find_variable(environment, text + plain + 2, name_len)
                                            : NULL;
                buf_append(&out, text, plain);
                text += plain;
                if (value) {
                        buf_puts(&out, value);
                        text += name_len + strlen("$()");
                } else if (*text) {
                        text += strncmp(text, "$$", 2) == 0; /* an escaped dollar sign */
                        buf_putc(&out, *text++);
                }
        }
        if (!out.overflow)
                return buf_take(&out);
        buf_done(&out);
        return xstrdup(REFERENCE);
}

/* NULL: there is none of this name, or it is not known. */
static const json_t *find_config_map(const struct environment *environment, const char *name) {
        const json_t *items = json_at(environment->config_maps, "items", NULL);

        return name ? json_at(json_find_at(name, items, "metadata", "name", NULL), "data", NULL)
                    : NULL;
}

/* All variables of a ConfigMap; a Secret is not read. */
static void read_env_from(struct environment *environment, const json_t *entry) {
        const char *prefix = json_string_at(entry, "prefix", NULL);
        const json_t *data = find_config_map(environment,
                                             json_string_at(entry, "configMapRef", "name", NULL));
        const char *key;
        json_t *value;

        environment->has_unread |= !data;
        json_object_foreach (json_iterable(data), key, value) {
                _cleanup_(freep) char *name = xasprintf("%s%s", prefix ? prefix : "", key);
                if (json_string_value(value))
                        add_variable(environment, name, xstrdup(json_string_value(value)));
        }
}

/* Owned by the caller. */
static char *value_from(const struct environment *environment, const json_t *source) {
        const char *key = json_string_at(source, "configMapKeyRef", "key", NULL);
        const json_t *data = find_config_map(
                environment, json_string_at(source, "configMapKeyRef", "name", NULL));
        const char *value = key ? json_string_at(data, key, NULL) : NULL;

        if (json_is_at("metadata.namespace", source, "fieldRef", "fieldPath", NULL))
                value = environment->namespace;
        return xstrdup(value ? value : REFERENCE);
}

static void read_env(struct environment *environment, const json_t *entry) {
        const char *name = json_string_at(entry, "name", NULL);
        const char *value = json_string_at(entry, "value", NULL);
        const json_t *source = json_at(entry, "valueFrom", NULL);

        if (name)
                add_variable(environment, name,
                             source ? value_from(environment, source)
                                    : expand(environment, value ? value : ""));
}

static void read_environment(struct environment *environment, const json_t *container) {
        const json_t *from = json_at(container, "envFrom", NULL);
        const json_t *env = json_at(container, "env", NULL);

        for (size_t i = 0; i < json_array_size(from); i++)
                read_env_from(environment, json_array_get(from, i));
        for (size_t i = 0; i < json_array_size(env); i++)
                read_env(environment, json_array_get(env, i));
}

/* ---- Its command line. */

struct words {
        char *items[MAX_WORDS]; /* each owned */
        size_t count;
        bool is_unread; /* the command line is not known: a shell makes it, say */
};

static void words_done(struct words *words) {
        for (size_t i = 0; i < words->count; i++)
                free(words->items[i]);
}

static void add_words(struct words *words, const struct environment *environment,
                      const json_t *list, size_t from, const char *program) {
        for (size_t i = from; i < json_array_size(list); i++) {
                const char *text = json_string_value(json_array_get(list, i));
                if (!text)
                        continue;
                words->is_unread |= words->count == MAX_WORDS ||
                                    (strchr(text, ' ') && strstr(text, program));
                if (words->is_unread)
                        return;
                words->items[words->count++] = expand(environment, text);
        }
}

/* The words after the program's name. */
static void read_words(struct words *words, const struct environment *environment,
                       const json_t *container, const char *program) {
        const json_t *command = json_at(container, "command", NULL);
        const json_t *args = json_at(container, "args", NULL);
        bool is_first = is_program(json_array_get(args, 0), program);

        if (!is_first)
                add_words(words, environment, command, words_before(command, program), program);
        add_words(words, environment, args, is_first ? 1 : 0, program);
}

/* ---- The values. */

/* The flag's last value on the command line, or all of a list. NULL: it has none. Owned by the
 * caller. */
static char *given_text(const struct words *words, const struct option_row *row) {
        struct buf all = BUF_INIT(TEXT_MAX_BYTES);
        bool is_given = false;
        size_t at = 0;

        for (const char *next; (next = options_given(row, words->items, words->count, &at));) {
                if (row->type != OPTION_LIST)
                        buf_clear(&all);
                else if (is_given)
                        buf_putc(&all, '\n');
                buf_puts(&all, next);
                is_given = true;
        }
        return is_given ? buf_take(&all) : NULL;
}

static char *resolve(const struct words *words, const struct environment *environment,
                     const struct option_row *row) {
        char *given = words->is_unread ? xstrdup(REFERENCE) : given_text(words, row);
        char variable[OPTIONS_VARIABLE_MAX];

        if (given)
                return given;
        options_variable(row->name, variable);
        const char *text = find_variable(environment, variable, strlen(variable));
        if (text && *text)
                return xstrdup(text);
        return environment->has_unread && !text ? xstrdup(REFERENCE)
                                                : xstrdup_or_null(row->fallback);
}

void program_flags_read(const json_t *spec, const char *program, const char *namespace,
                        const json_t *config_maps, struct program_flags *ret) {
        _cleanup_(environment_done) struct environment environment = {
                .namespace = namespace, .config_maps = config_maps, .variables = json_object()};
        _cleanup_(words_done) struct words words = {0};
        const json_t *container = program_flags_container(spec, program);

        read_environment(&environment, container);
        read_words(&words, &environment, container, program);
        for (size_t i = 0; i < PROGRAM_FLAG_COUNT; i++)
                ret->texts[i] = resolve(&words, &environment, &rows[i]);
}

void program_flags_hide(struct program_flags *ret) {
        for (size_t i = 0; i < PROGRAM_FLAG_COUNT; i++)
                ret->texts[i] = xstrdup(REFERENCE);
}

void program_flags_done(struct program_flags *flags) {
        for (size_t i = 0; i < PROGRAM_FLAG_COUNT; i++)
                free(flags->texts[i]);
        *flags = (struct program_flags){0};
}

const char *program_flags_name(enum program_flag flag) {
        return rows[flag].name;
}

bool program_flags_is_hidden(const struct program_flags *flags, enum program_flag flag) {
        return flags->texts[flag] && strstr(flags->texts[flag], REFERENCE);
}

const char *program_flags_text(const struct program_flags *flags, enum program_flag flag) {
        return program_flags_is_hidden(flags, flag) ? NULL : flags->texts[flag];
}

bool program_flags_is_on(const struct program_flags *flags, enum program_flag flag) {
        bool is_on = false;

        return flags->texts[flag] && options_parse_bool(flags->texts[flag], &is_on) && is_on;
}

long long program_flags_int(const struct program_flags *flags, enum program_flag flag,
                            long long fallback) {
        const char *text = flags->texts[flag];
        int64_t value = 0;

        return text && number_parse_i64(text, strlen(text), &value) ? value : fallback;
}

bool program_flags_has_word(const struct program_flags *flags, enum program_flag flag,
                            const char *word) {
        size_t len = strlen(word);

        for (const char *at = flags->texts[flag]; at;
             at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
                if (strncmp(at, word, len) == 0 && strcspn(at, ",") == len)
                        return true;
        return false;
}
