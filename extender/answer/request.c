#include "extender/answer/request.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/skim_fields.h"

/* Whether @key is one of the fields that we read, in any spelling. */
static bool is_field(const char *key, size_t len) {
        return (len == 3 && strncasecmp(key, "Pod", 3) == 0) ||
               (len == 5 && strncasecmp(key, "Nodes", 5) == 0) ||
               (len == 9 && strncasecmp(key, "NodeNames", 9) == 0);
}

void request_reset(struct request *request) {
        for (size_t i = 0; i < request->owned_len; i++)
                free(request->owned[i]);
        *request = (struct request){
                .nodes = request->nodes,
                .cap = request->cap,
                .owned = request->owned,
                .owned_cap = request->owned_cap,
        };
}

void request_done(struct request *request) {
        request_reset(request);
        free(request->nodes);
        free(request->owned);
        *request = REQUEST_NULL;
}

static const char *keep(struct request *request, char *owned) {
        mem_grow(&request->owned, request->owned_len, &request->owned_cap);
        request->owned[request->owned_len++] = owned;
        return owned;
}

/* jansson decodes escapes; it may refuse them. */
static bool decode_name(struct request *request, struct skim_string *name) {
        json_auto_t *string = NULL;

        if (json_parse(name->text - 1, name->len + 2, &string, NULL) < 0)
                return false;
        name->len = json_string_length(string);
        name->text = keep(request, xmemdup0(json_string_value(string), name->len));
        return true;
}

/* Return: false: there are too many, or the name cannot be vouched for */
static bool request_add_node(struct request *request, struct skim_string *name, const char *json,
                             size_t json_bytes) {
        if (request->count >= REQUEST_MAX_NODES ||
            (name->is_escaped && !decode_name(request, name)))
                return false;
        mem_grow(&request->nodes, request->count, &request->cap);
        request->nodes[request->count++] = (struct request_node){
                .name = name->text,
                .json = json,
                .name_bytes = (uint32_t)name->len,
                .json_bytes = (uint32_t)json_bytes,
        };
        return true;
}

/* Strings that the skimmer counts as absent may be ones that jansson can decode. */
static bool skim_pod(struct request *request, struct skim *skim) {
        return pod_facts_take(&request->pod, skim) && !skim->has_odd_text;
}

static bool skim_names(struct request *request, struct skim *skim) {
        enum skim_step step;

        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;) {
                struct skim_string name;
                const char *json = skim->at;
                if (!skim_string(skim, &name) ||
                    !request_add_node(request, &name, json, (size_t)(skim->at - json)))
                        return false;
        }
        return step == SKIM_END;
}

/* Steps through an object of which only the member @name matters. */
static inline bool skim_only(struct skim *skim, const char *name, skim_field_fn *read, void *ret) {
        struct skim_string key;
        enum skim_step step;

        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;)
                if (!(skim_is(&key, name) ? read(skim, ret) : skim_value(skim)))
                        return false;
        return step == SKIM_END;
}

/* Any value but a string counts as absent. */
static bool read_node_name(struct skim *skim, void *ret) {
        struct skim_string *name = ret;

        if (skim_peek(skim) == '"')
                return skim_string(skim, name);
        *name = (struct skim_string){.text = ""};
        return skim_value(skim);
}

static bool read_node_metadata(struct skim *skim, void *ret) {
        *(struct skim_string *)ret = (struct skim_string){.text = ""};
        return skim_peek(skim) == '{' ? skim_only(skim, "name", read_node_name, ret)
                                      : skim_value(skim);
}

static bool skim_node(struct request *request, struct skim *skim) {
        struct skim_string name = {.text = ""};
        const char *json = skim->at;

        return skim_peek(skim) == '{' && skim_only(skim, "metadata", read_node_metadata, &name) &&
               request_add_node(request, &name, json, (size_t)(skim->at - json));
}

static bool read_node_items(struct skim *skim, void *ret) {
        struct request *request = ret;
        enum skim_step step;

        request->count = 0;
        if (skim_is_null(skim))
                return skim_value(skim);
        if (skim_peek(skim) != '[')
                return false;
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;)
                if (!skim_node(request, skim))
                        return false;
        return step == SKIM_END;
}

static bool skim_node_list(struct request *request, struct skim *skim) {
        return skim_peek(skim) == '{' && skim_only(skim, "items", read_node_items, request);
}

/* Other spellings and repetitions of the three fields are left to the strict parser. */
static bool skim_top(struct request *request, struct skim *skim) {
        bool has_pod = false, has_names = false, has_nodes = false;
        struct skim_string key;
        enum skim_step step;

        if (skim_peek(skim) != '{')
                return false;
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;) {
                bool ok;
                if (skim_is(&key, "Pod") && !has_pod) {
                        has_pod = true;
                        ok = skim_pod(request, skim);
                } else if (skim_is(&key, "NodeNames") && !has_names) {
                        has_names = true;
                        request->has_names = skim_peek(skim) == '[';
                        if (request->has_names)
                                ok = request->count == 0 && skim_names(request, skim);
                        else
                                ok = skim_is_null(skim) && skim_value(skim);
                } else if (skim_is(&key, "Nodes") && !has_nodes) {
                        has_nodes = true;
                        if (skim_is_null(skim))
                                ok = skim_value(skim);
                        else
                                ok = !request->has_names && skim_node_list(request, skim);
                } else {
                        ok = !is_field(key.text, key.len) && skim_value(skim);
                }
                if (!ok)
                        return false;
        }
        return step == SKIM_END && skim_at_end(skim);
}

bool request_skim(struct request *request, const char *text, size_t len) {
        struct skim skim;

        request_reset(request);
        skim_init(&skim, text, len);
        request->is_contiguous = true;
        if (skim_top(request, &skim))
                return true;
        request_reset(request);
        return false;
}

static struct skim_string keep_name(struct request *request, const char *text, size_t len) {
        return (struct skim_string){.text = keep(request, xmemdup0(text, len)), .len = len};
}

static const char *dump(struct request *request, const json_t *value) {
        char *json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

        if (!json)
                mem_exhausted();
        return keep(request, json);
}

/* There is room: strict_list() has seen to it; of victims REQUEST_STRICT_MAX_BYTES hold fewer. */
static void strict_add(struct request *request, struct skim_string *name, const char *json,
                       size_t json_bytes) {
        bool is_added = request_add_node(request, name, json, json_bytes);

        assert(is_added);
}

static void strict_node(struct request *request, const json_t *name, const json_t *echo) {
        const char *json = dump(request, echo);
        struct skim_string text = {.text = ""};

        if (json_is_string(name))
                text = keep_name(request, json_string_value(name), json_string_length(name));
        strict_add(request, &text, json, strlen(json));
}

static void strict_pod(struct request *request, const json_t *pod) {
        const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

        if (!json_is_object(pod))
                return;
        const char *json = dump(request, pod);
        if (!pod_facts_skim(&request->pod, json, strlen(json)))
                request->pod = (struct pod_facts){.has_preferences = true};
        request->pod.is_daemonset |= json_find_at("DaemonSet", owners, "kind", NULL) != NULL;
}

static bool is_given(const json_t *value) {
        return value && json_typeof(value) != JSON_NULL;
}

static int strict_list(const json_t *list, const char *where, struct error *err) {
        if (json_typeof(list) != JSON_ARRAY)
                return error_set(err, EINVAL, "%s: expected an array or null", where);
        if (json_array_size(list) > REQUEST_MAX_NODES)
                return error_set(err, E2BIG, "more than %d nodes", REQUEST_MAX_NODES);
        return 0;
}

static int strict_names(struct request *request, const json_t *names, struct error *err) {
        const json_t *name;
        size_t i;

        int r = strict_list(names, "NodeNames", err);
        if (r < 0)
                return r;
        request->has_names = true;
        json_array_foreach (names, i, name) {
                if (json_typeof(name) != JSON_STRING)
                        return error_set(err, EINVAL, "NodeNames[%zu]: expected a string", i);
                strict_node(request, name, name);
        }
        return 0;
}

static int strict_node_list(struct request *request, const json_t *list, struct error *err) {
        const json_t *items = json_object_get(list, "items");
        const json_t *node;
        size_t i;

        if (json_typeof(list) != JSON_OBJECT)
                return error_set(err, EINVAL, "Nodes: expected an object or null");
        if (!is_given(items))
                return 0;
        int r = strict_list(items, "Nodes.items", err);
        if (r < 0)
                return r;
        json_array_foreach (items, i, node) {
                const json_t *metadata = json_object_get(node, "metadata");
                if (json_typeof(node) != JSON_OBJECT)
                        return error_set(err, EINVAL, "Nodes.items[%zu]: expected an object", i);
                strict_node(request, json_object_get(metadata, "name"), node);
        }
        return 0;
}

int request_parse_strict(struct request *request, const char *text, size_t len, struct error *err) {
        json_auto_t *root = NULL;

        request_reset(request);
        int r = json_parse(text, len, &root, err);
        if (r < 0)
                return r;
        if (json_typeof(root) != JSON_OBJECT)
                return error_set(err, EINVAL, "expected an ExtenderArgs object");
        strict_pod(request, json_member(root, "Pod"));
        const json_t *names = json_member(root, "NodeNames");
        const json_t *nodes = json_member(root, "Nodes");
        if (is_given(names))
                r = strict_names(request, names, err);
        else if (is_given(nodes))
                r = strict_node_list(request, nodes, err);
        if (r < 0)
                request_reset(request);
        return r;
}

int request_parse(struct request *request, const char *text, size_t len, struct error *err) {
        if (request_skim(request, text, len))
                return 0;
        if (len > REQUEST_STRICT_MAX_BYTES)
                return error_set(err, E2BIG,
                                 "%zu bytes need the slow parser, which reads at most %d", len,
                                 REQUEST_STRICT_MAX_BYTES);
        return request_parse_strict(request, text, len, err);
}

/* `{"Pods":[{"UID":".."}],"NumPDBViolations":0}` of either form; new. */
static json_t *meta_victims(const json_t *victims, bool are_whole, struct error *err) {
        json_auto_t *pods = json_array();
        const json_t *pod;
        size_t i;

        if (!pods)
                mem_exhausted();
        if (json_typeof(victims) != JSON_OBJECT)
                goto odd;
        json_array_foreach (json_object_get(victims, "Pods"), i, pod) {
                const json_t *uid = are_whole ? json_at(pod, "metadata", "uid", NULL)
                                              : json_object_get(pod, "UID");
                if (!json_is_string(uid))
                        goto odd;
                json_t *named = json_pack("{s:O}", "UID", uid);
                if (json_array_append_new(pods, named) < 0)
                        mem_exhausted();
        }
        json_t *result = json_pack("{s:O, s:I}", "Pods", pods, "NumPDBViolations",
                                   json_int_at(0, victims, "NumPDBViolations", NULL));
        if (!result)
                mem_exhausted();
        return result;
odd:
        (void)error_set(err, EINVAL, "expected victims as objects with Pods");
        return NULL;
}

static int request_add_candidate(struct request *request, const char *name, const json_t *victims,
                                 bool are_whole, struct error *err) {
        json_auto_t *echo = meta_victims(victims, are_whole, err);
        size_t len = strlen(name);

        if (!echo)
                return -EINVAL;
        _cleanup_(freep) char *value = json_dumps(echo, JSON_COMPACT);
        _cleanup_(buf_done) struct buf text = BUF_INIT(SIZE_MAX >> 1);
        if (!value)
                mem_exhausted();
        (void)buf_json_string(&text, name, len);
        (void)buf_printf(&text, ":%s", value);
        size_t bytes = text.len;
        struct skim_string key = keep_name(request, name, len);
        strict_add(request, &key, keep(request, buf_take(&text)), bytes);
        return 0;
}

int request_parse_preemption(struct request *request, const char *text, size_t len,
                             struct error *err) {
        json_auto_t *root = NULL;
        const char *name;
        json_t *victims;

        request_reset(request);
        if (len > REQUEST_STRICT_MAX_BYTES)
                return error_set(err, E2BIG, "%zu bytes of victims, expected at most %d", len,
                                 REQUEST_STRICT_MAX_BYTES);
        int r = json_parse(text, len, &root, err);
        if (r < 0)
                return r;
        const json_t *by_node = json_member(root, "NodeNameToMetaVictims");
        bool are_whole = !json_is_object(by_node);
        if (are_whole)
                by_node = json_member(root, "NodeNameToVictims");
        if (!json_is_object(by_node))
                return error_set(err, EINVAL, "expected an ExtenderPreemptionArgs object");
        request->has_names = true;
        strict_pod(request, json_member(root, "Pod"));
        json_object_foreach (json_iterable(by_node), name, victims) {
                r = request_add_candidate(request, name, victims, are_whole, err);
                if (r < 0) {
                        request_reset(request);
                        return r;
                }
        }
        return 0;
}
