#include "extender/answer/request.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/skim_fields.h"

void request_reset(struct request *request) {
        *request = (struct request){.nodes = request->nodes, .cap = request->cap};
}

void request_done(struct request *request) {
        free(request->nodes);
        *request = REQUEST_NULL;
}

/* Add the candidate whose JSON begins at @json and ends at the cursor. Return: false: too many */
static bool add_node(struct request *request, const struct skim *skim,
                     const struct skim_string *name, const char *json) {
        if (request->count >= request->max_count)
                return false;
        mem_grow(&request->nodes, request->count, &request->cap);
        request->nodes[request->count++] = (struct request_node){
                .name = name->text ? name->text : "",
                .json = json,
                .name_bytes = (uint32_t)name->len,
                .json_bytes = (uint32_t)(skim->at - json),
        };
        return true;
}

static bool read_request_pod(struct skim *skim, void *ret) {
        return pod_facts_take(ret, skim);
}

/* As if the field were absent. */
static bool skim_null(struct skim *skim) {
        if (!skim_is_null(skim))
                return false;
        return skim_value(skim);
}

/* ---- Candidates by name. */

static bool read_node_names(struct skim *skim, void *ret) {
        struct request *request = ret;
        struct skim_string name;
        enum skim_step step;

        if (skim_peek(skim) != '[')
                return skim_null(skim);
        request->has_names = true;
        request->count = 0;
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;) {
                const char *json = skim->at;
                if (!skim_string(skim, &name) || !add_node(request, skim, &name, json))
                        return false;
        }
        return step == SKIM_END;
}

/* ---- Candidates as Node objects. */

static bool skim_node(struct request *request, struct skim *skim) {
        static const struct skim_field metadata_fields[] = {
                {SKIM_ONLY("name", struct skim_string), .read = skim_field_any_text},
                {0},
        };
        static const struct skim_field fields[] = {
                {SKIM_ONLY("metadata", struct skim_string), .fields = metadata_fields},
                {0},
        };
        struct skim_string name = {0};
        const char *json = skim->at;

        return skim_peek(skim) == '{' && skim_fields(skim, fields, &name) &&
               add_node(request, skim, &name, json);
}

static bool read_node_items(struct skim *skim, void *ret) {
        struct request *request = ret;
        enum skim_step step;

        request->count = 0;
        if (skim_peek(skim) != '[')
                return skim_null(skim);
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;)
                if (!skim_node(request, skim))
                        return false;
        return step == SKIM_END;
}

static bool read_node_list(struct skim *skim, void *ret) {
        static const struct skim_field fields[] = {
                {SKIM_ONLY("items", struct request), .read = read_node_items},
                {0},
        };
        const struct request *request = ret;

        if (request->has_names || skim_is_null(skim))
                return skim_value(skim);
        return skim_peek(skim) == '{' && skim_fields(skim, fields, ret);
}

/* ---- Victims. */

struct victim_reader {
        request_victim_fn *fn;
        void *userdata;
        int64_t violations;
};

static bool read_victim(struct skim *skim, struct victim_reader *reader) {
        static const struct skim_field metadata_fields[] = {
                {SKIM_ONLY("uid", struct skim_string), .read = skim_field_any_text},
                {0},
        };
        /* The UID of a whole pod, or of a MetaPod. */
        static const struct skim_field fields[] = {
                {SKIM_ONLY("metadata", struct skim_string), .fields = metadata_fields},
                {SKIM_ONLY("UID", struct skim_string), .read = skim_field_any_text},
                {0},
        };
        struct skim_string uid = {0};

        if (skim_is_null(skim))
                return skim_value(skim);
        if (!skim_fields_any_case(skim, fields, &uid) || !uid.text)
                return false;
        reader->fn(reader->userdata, &uid);
        return true;
}

static bool read_victim_pods(struct skim *skim, void *ret) {
        enum skim_step step;

        if (skim_peek(skim) != '[')
                return skim_null(skim);
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;)
                if (!read_victim(skim, ret))
                        return false;
        return step == SKIM_END;
}

/* 0: not an integer */
static bool read_violations(struct skim *skim, void *ret) {
        const char *begin = skim->at;

        if (!skim_value(skim))
                return false;
        if (!number_parse_i64(begin, (size_t)(skim->at - begin), ret))
                *(int64_t *)ret = 0;
        return true;
}

static bool skim_victims(struct skim *skim, struct victim_reader *reader) {
        static const struct skim_field fields[] = {
                {SKIM_ONLY("Pods", struct victim_reader), .read = read_victim_pods},
                SKIM_VALUE("NumPDBViolations", struct victim_reader, violations, read_violations),
                {0},
        };

        return (skim_peek(skim) == '{' || skim_is_null(skim)) &&
               skim_fields_any_case(skim, fields, reader);
}

int64_t request_victims(const struct request_node *node, request_victim_fn *fn, void *userdata) {
        struct victim_reader reader = {.fn = fn, .userdata = userdata};
        struct skim skim;

        skim_init(&skim, node->json, node->json_bytes);
        (void)!skim_victims(&skim, &reader);
        return reader.violations;
}

static void check_victim(void *userdata, const struct skim_string *uid) {
        (void)userdata, (void)uid;
}

static bool read_victims_by_node(struct skim *skim, void *ret) {
        struct victim_reader checker = {.fn = check_victim};
        struct request *request = ret;
        struct skim_string name;
        enum skim_step step;

        if (skim_peek(skim) != '{')
                return skim_null(skim);
        request->has_names = true;
        for (skim_enter(skim); (step = skim_member(skim, &name)) == SKIM_MORE;) {
                const char *json = skim->at;
                if (!skim_victims(skim, &checker) || !add_node(request, skim, &name, json))
                        return false;
        }
        return step == SKIM_END;
}

/* ---- Documents. */

static int read_request(struct request *request, const struct skim_field *fields, const char *what,
                        const char *text, size_t len, size_t max_nodes, struct error *err) {
        struct skim skim;

        request_reset(request);
        request->max_count = max_nodes;
        skim_init(&skim, text, len);
        if (skim_peek(&skim) == '{' && skim_fields_any_case(&skim, fields, request) &&
            skim_at_end(&skim))
                return 0;
        bool is_full = request->count >= max_nodes;
        request_reset(request);
        if (is_full)
                return error_set(err, E2BIG, "more than %zu nodes", max_nodes);
        return error_set(err, EINVAL, "byte %td of %zu: expected the JSON of %s", skim.at - text,
                         len, what);
}

int request_parse(struct request *request, const char *text, size_t len, size_t max_nodes,
                  struct error *err) {
        static const struct skim_field fields[] = {
                SKIM_VALUE("Pod", struct request, pod, read_request_pod),
                {SKIM_ONLY("NodeNames", struct request), .read = read_node_names},
                {SKIM_ONLY("Nodes", struct request), .read = read_node_list},
                {0},
        };

        return read_request(request, fields, "an ExtenderArgs object", text, len, max_nodes, err);
}

int request_parse_preemption(struct request *request, const char *text, size_t len,
                             size_t max_nodes, struct error *err) {
        static const struct skim_field fields[] = {
                SKIM_VALUE("Pod", struct request, pod, read_request_pod),
                {SKIM_ONLY("NodeNameToMetaVictims", struct request), .read = read_victims_by_node},
                {SKIM_ONLY("NodeNameToVictims", struct request), .read = read_victims_by_node},
                {0},
        };

        int r = read_request(request, fields, "an ExtenderPreemptionArgs object", text, len,
                             max_nodes, err);
        if (r == 0 && !request->has_names) {
                request_reset(request);
                r = error_set(err, EINVAL, "no NodeNameToMetaVictims and no NodeNameToVictims");
        }
        return r;
}
