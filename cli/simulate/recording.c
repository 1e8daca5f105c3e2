#include "cli/simulate/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "extender/estimate_page/estimate_import.h"
#include "extender/table/annotation_style.h"
#include "policy/pods/pod_facts.h"

/* ---- Reading. */

/* A member of @object. Errors call the object @place; "" is the document. */
static int recording_text(const json_t *object, const char *place, const char *key,
                          const char **ret, struct error *err) {
        *ret = json_string_at(object, key, NULL);
        return *ret ? 0
                    : error_set(err, EINVAL, "%s%s%s: expected a string", place,
                                place[0] ? "." : "", key);
}

static int recording_time(const json_t *object, const char *place, const char *key, int64_t *ret,
                          struct error *err) {
        const char *text;

        int r = recording_text(object, place, key, &text, err);
        if (r < 0 || timestamp_parse(text, strlen(text), ret))
                return r;
        return error_set(err, EINVAL, "%s%s%s: '%.64s': expected a time such as %s", place,
                         place[0] ? "." : "", key, text, "2026-07-23T11:25:54.120Z");
}

static int read_texts(struct recording *recording, struct error *err) {
        const char *unit = NULL;
        const struct {
                const char *object, *key, **ret;
        } texts[] = {
                {"annotations", "prefix", &recording->prefix},
                {"annotations", "timezone", &recording->timezone},
                {"annotations", "unit", &unit},
                {"policy", "from", &recording->policy_from},
                {"policy", "text", &recording->policy_text},
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                int r = recording_text(json_at(recording->root, texts[i].object, NULL),
                                       texts[i].object, texts[i].key, texts[i].ret, err);
                if (r < 0)
                        return r;
        }
        for (int i = 0; annotation_units[i]; i++)
                if (strcmp(annotation_units[i], unit) == 0) {
                        recording->unit = i;
                        return 0;
                }
        return error_set(err, EINVAL, "annotations.unit: '%.64s': expected ratio or percent", unit);
}

static int check_node(const json_t *node, const char *place, struct error *err) {
        const char *name;

        if (!json_is_object(json_at(node, "annotations", NULL)))
                return error_set(err, EINVAL, "%s.annotations: expected an object", place);
        return recording_text(node, place, "name", &name, err);
}

static bool is_amount(const json_t *number, double max) {
        double value = json_number_value(number);

        return json_is_number(number) && value >= 0 && value <= max;
}

static int check_pod(const json_t *pod, const char *place, struct error *err) {
        int64_t bound_unix_ms;
        const char *node;

        int r = recording_text(pod, place, "node", &node, err);
        if (r == 0)
                r = recording_time(pod, place, "bound", &bound_unix_ms, err);
        if (r < 0)
                return r;
        if (!is_amount(json_at(pod, "cores", NULL), POD_FACTS_CORES_MAX) ||
            !is_amount(json_at(pod, "bytes", NULL), POD_FACTS_BYTES_MAX))
                return error_set(err, EINVAL, "%s: expected cores and bytes that a pod can request",
                                 place);
        return 0;
}

static int check_decision(const json_t *item, const char *place, struct error *err) {
        if (!json_is_object(json_at(item, "decision", NULL)))
                return error_set(err, EINVAL, "%s.decision: expected an object", place);
        return 0;
}

static int check_note(const json_t *note, const char *place, struct error *err) {
        return json_string_value(note) ? 0 : error_set(err, EINVAL, "%s: expected a string", place);
}

static int read_list(const json_t *root, const char *key,
                     int (*check)(const json_t *item, const char *place, struct error *err),
                     const json_t **ret, struct error *err) {
        const json_t *list = json_at(root, key, NULL);

        if (!json_is_array(list))
                return error_set(err, EINVAL, "%s: expected a list", key);
        for (size_t i = 0; i < json_array_size(list); i++) {
                char place[64];
                (void)snprintf(place, sizeof(place), "%s[%zu]", key, i);
                int r = check(json_array_get(list, i), place, err);
                if (r < 0)
                        return r;
        }
        *ret = list;
        return 0;
}

static int read_kind(const json_t *root, struct error *err) {
        if (!json_is_at(RECORDING_KIND, root, "kind", NULL))
                return error_set(err, EINVAL, "kind: expected " RECORDING_KIND);
        if (json_int_at(0, root, "version", NULL) != RECORDING_VERSION)
                return error_set(err, EINVAL, "version: expected %d", RECORDING_VERSION);
        return 0;
}

/* The estimate is checked when it is imported into a table. */
static int read_estimate(struct recording *recording, struct error *err) {
        const json_t *page = json_at(recording->root, "estimate", NULL);
        const char *from = json_string_at(recording->root, "estimateFrom", NULL);

        if (page && json_typeof(page) != JSON_OBJECT && json_typeof(page) != JSON_NULL)
                return error_set(err, EINVAL, "estimate: expected an object or null");
        recording->estimate = json_is_object(page) ? page : NULL;
        recording->estimate_from = from ? from : "it is not in the recording";
        return 0;
}

static int read_document(struct recording *recording, struct error *err) {
        const json_t *root = recording->root;

        int r = read_kind(root, err);
        if (r == 0)
                r = recording_time(root, "", "at", &recording->at_unix_ms, err);
        if (r == 0)
                r = read_texts(recording, err);
        if (r == 0)
                r = read_list(root, "nodes", check_node, &recording->nodes, err);
        if (r == 0 && !json_is_null(json_at(root, "pods", NULL)))
                r = read_list(root, "pods", check_pod, &recording->pods, err);
        if (r == 0)
                r = read_list(root, "decisions", check_decision, &recording->decisions, err);
        if (r == 0)
                r = read_list(root, "notes", check_note, &recording->notes, err);
        if (r == 0)
                r = read_estimate(recording, err);
        return r;
}

int recording_from_json(json_t *root, struct recording *ret, struct error *err) {
        *ret = (struct recording){.root = json_incref(root)};
        int r = read_document(ret, err);
        if (r < 0)
                recording_done(ret);
        return r;
}

int recording_load(const char *path, struct recording *ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        json_auto_t *root = NULL;
        size_t len;

        *ret = (struct recording){0};
        int r = file_read_input(path, RECORDING_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = json_parse(text, len, &root, err);
        if (r == 0)
                r = recording_from_json(root, ret, err);
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

void recording_done(struct recording *recording) {
        json_decref(recording->root);
        *recording = (struct recording){0};
}

/* ---- Writing. */

static int write_all(const json_t *root, int fd) {
        FILE *out = fdopen(fd, "w");

        if (!out)
                mem_exhausted();
        bool is_written = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) == 0 &&
                          fputc('\n', out) != EOF && fflush(out) == 0 && fsync(fd) == 0;
        int cause = is_written ? 0 : errno;
        (void)fclose(out);
        return -cause;
}

int recording_save(const json_t *root, const char *path, struct error *err) {
        _cleanup_(freep) char *beside = xasprintf("%s.XXXXXX", path);

        int fd = mkstemp(beside);
        if (fd < 0)
                return error_set(err, errno, "%s: cannot write beside it: %s", path,
                                 strerror(errno));
        int r = write_all(root, fd);
        if (r == 0 && rename(beside, path) < 0)
                r = -errno;
        if (r == 0)
                return 0;
        (void)unlink(beside);
        return error_set(err, r, "%s: cannot write: %s", path, strerror(-r));
}

/* Whether an annotation could be a reading, or should be one. */
static bool is_kept_reading(const char *key, const char *value, const struct zone *zone) {
        struct metric_query query;
        struct annotation reading;
        size_t len = strlen(key), peak = strlen(ANNOTATION_PEAK);

        if (!metric_name_is_valid(key) ||
            (len > peak && strcmp(key + len - peak, ANNOTATION_PEAK) == 0))
                return false;
        return strcmp(key, ANNOTATION_HOT_VALUE) == 0 || strcmp(key, ANNOTATION_COVERED) == 0 ||
               metric_query_parse(key, &query) ||
               annotation_parse(value, strlen(value), zone, &reading, NULL) == 0;
}

json_t *recording_node(const json_t *node, const struct node_table_options *options) {
        const char *name = json_string_at(node, "metadata", "name", NULL), *key;
        const json_t *annotations = json_at(node, "metadata", "annotations", NULL);
        const json_t *capacity = json_at(node, "status", "capacity", NULL);
        size_t prefix_len = strlen(options->annotation_prefix);
        json_t *kept, *value;

        if (!name)
                return NULL;
        kept = json_object();
        json_object_foreach (json_iterable(annotations), key, value) {
                const char *text = json_string_at(annotations, key, NULL);
                if (text && strncmp(key, options->annotation_prefix, prefix_len) == 0 &&
                    is_kept_reading(key + prefix_len, text, options->zone))
                        (void)json_object_set(kept, key, value);
        }
        return json_pack("{s:s, s:o, s:O*, s:{s:O*, s:O*}}", "name", name, "annotations", kept,
                         "labels", json_at(node, "metadata", "labels", NULL), "capacity", "cpu",
                         json_at(capacity, "cpu", NULL), "memory",
                         json_at(capacity, "memory", NULL));
}

/* ---- The table. */

static void bind_pods(const struct recording *recording, struct estimator *estimator) {
        const json_t *pod;
        size_t i;

        if (!recording->pods)
                return;
        estimator_list_begins(estimator);
        json_array_foreach (recording->pods, i, pod) {
                const char *node = json_string_at(pod, "node", NULL);
                struct estimator_pod to = {
                        .id = i + 1,
                        .node = node,
                        .node_len = strlen(node),
                        .request.of =
                                {[ESTIMATE_CPU] = json_number_value(json_at(pod, "cores", NULL)),
                                 [ESTIMATE_MEM] = json_number_value(json_at(pod, "bytes", NULL))},
                };
                /* check_pod() has read it before. */
                (void)recording_time(pod, "", "bound", &to.runs_unix_ms, NULL);
                estimator_bind(estimator, &to);
        }
        estimator_list_ended(estimator, recording->at_unix_ms, recording->at_unix_ms);
}

const char *recording_estimate(const struct recording *recording, struct node_table *table,
                               bool is_under_way, struct error *ret_why_unscored) {
        struct estimator *estimator = node_table_estimator(table);

        if (!estimator)
                return NULL;
        if (!is_under_way)
                bind_pods(recording, estimator);
        else if (!recording->estimate)
                (void)error_set(ret_why_unscored, ENODATA, "%s", recording->estimate_from);
        else if (estimate_import_page(table, recording->estimate, ret_why_unscored) == 0)
                return recording->estimate_from;
        return NULL;
}

int recording_put_nodes(const struct recording *recording, struct node_table *table,
                        struct error *err) {
        int64_t now_unix_ms = recording->at_unix_ms;
        const json_t *node;
        size_t i;

        node_table_list_begins(table);
        node_table_list_ended(table);
        json_array_foreach (recording->nodes, i, node) {
                const struct node_update update = {
                        .name = json_string_at(node, "name", NULL),
                        .annotations = json_at(node, "annotations", NULL),
                        .labels = json_at(node, "labels", NULL),
                        .capacity = json_at(node, "capacity", NULL),
                };
                node_table_put(table, &update, now_unix_ms);
                if (node_table_count(table) != i + 1)
                        return error_set(err, EINVAL,
                                         "nodes[%zu].name: '%.64s' is a duplicate or not a valid "
                                         "node name",
                                         i, update.name);
        }
        return 0;
}
