#include "extender/answer/reply.h"

#include <inttypes.h>

#include "base/mem.h"

enum {
        REPLY_MAX_TEXT_BYTES = 16 << 20,
        /* It is cheaper to copy a shorter run of the request than to send it as a piece. No Node
         * object is shorter, so large requests are never copied. */
        SLICE_MIN_BYTES = 1024,
};

void reply_init(struct reply *reply) {
        *reply = (struct reply){.text = BUF_INIT(REPLY_MAX_TEXT_BYTES)};
}

void reply_done(struct reply *reply) {
        buf_done(&reply->text);
        free(reply->pieces);
        reply_init(reply);
}

size_t reply_memory_bytes(const struct reply *reply) {
        return reply->text.cap + reply->cap * sizeof(*reply->pieces);
}

static void reply_begin(struct reply *reply) {
        buf_clear(&reply->text);
        reply->count = reply->text_marked = reply->bytes = 0;
}

/* @slice: of the request; NULL: the next @bytes of the generated text */
static void mark(struct reply *reply, const char *slice, size_t bytes) {
        mem_grow(&reply->pieces, reply->count, &reply->cap);
        reply->pieces[reply->count++] = (struct iovec){(void *)(uintptr_t)slice, bytes};
        reply->bytes += bytes;
}

static void mark_text(struct reply *reply) {
        mark(reply, NULL, reply->text.len - reply->text_marked);
        reply->text_marked = reply->text.len;
}

static void put(struct reply *reply, const char *text) {
        (void)buf_puts(&reply->text, text);
}

/* A string from the request, still escaped, with quotes. */
static void put_quoted(struct reply *reply, const char *text, size_t len) {
        put(reply, "\"");
        (void)buf_append(&reply->text, text, len);
        put(reply, "\"");
}

static void put_slice(struct reply *reply, const char *slice, size_t bytes) {
        if (bytes < SLICE_MIN_BYTES) {
                (void)buf_append(&reply->text, slice, bytes);
                return;
        }
        mark_text(reply);
        mark(reply, slice, bytes);
}

static bool reply_finish(struct reply *reply) {
        char *at = reply->text.data;

        mark_text(reply);
        for (size_t i = 0; i < reply->count; i++) {
                if (reply->pieces[i].iov_base)
                        continue;
                reply->pieces[i].iov_base = at;
                at += reply->pieces[i].iov_len;
        }
        return !reply->text.overflow;
}

/* The candidates on the list, separated by commas; neighbours in the request form one run. */
static void put_listed(struct reply *reply, const struct answer *answer) {
        const struct request *request = answer->request;
        const bool *is_listed = answer->judge.filtered.is_listed;
        bool is_first = true;

        for (size_t i = 0; i < request->count;) {
                if (!is_listed[i]) {
                        i++;
                        continue;
                }
                const char *from = request->nodes[i].json;
                const char *to;
                do {
                        to = request->nodes[i].json + request->nodes[i].json_bytes;
                        i++;
                } while (i < request->count && is_listed[i]);
                if (!is_first)
                        put(reply, ",");
                is_first = false;
                put_slice(reply, from, (size_t)(to - from));
        }
}

/* The candidate must be in the table, as every rejected candidate is. */
static const struct node_name *name_of(const struct answer *answer, size_t i) {
        return node_names_at(answer->snapshot->names, answer->judge.question.rows[i]);
}

static void put_rejected(struct reply *reply, const struct answer *answer) {
        char *const *reason_json = answer->snapshot->table_policy->reason_json;
        const struct judge_filtered *filtered = &answer->judge.filtered;
        size_t left = filtered->rejected_count;

        for (size_t i = 0; left > 0; i++) {
                size_t len;
                if (filtered->rejected_by[i] < 0)
                        continue;
                const char *quoted = node_name_quoted(name_of(answer, i), &len);
                (void)buf_append(&reply->text, quoted, len);
                put(reply, ":");
                put(reply, reason_json[filtered->rejected_by[i]]);
                if (--left > 0)
                        put(reply, ",");
        }
}

/* For the scheduler, nodes that are left out and nodes in this list are both rejected, but it
 * counts the reasons in the list for the pod's event. One entry stands for all nodes that are left
 * out, since each entry takes the scheduler's time. */
static void put_left_out(struct reply *reply, const struct answer *answer) {
        const struct judge_filtered *filtered = &answer->judge.filtered;
        const struct request *request = answer->request;

        for (size_t i = 0; filtered->left_out_count > 0 && i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                if (filtered->is_listed[i] || filtered->rejected_by[i] >= 0 ||
                    answer->judge.question.rows[i] == JUDGE_DUPLICATE || node->name_bytes == 0)
                        continue;
                put(reply, filtered->rejected_count > 0 ? "," : "");
                put_quoted(reply, node->name, node->name_bytes);
                put(reply, ":\"node");
                if (filtered->left_out_count > 1)
                        (void)buf_printf(&reply->text, " and %zu more",
                                         filtered->left_out_count - 1);
                put(reply, " left out by Plimsoll's shortlist\"");
                return;
        }
}

bool reply_filter(struct reply *reply, const struct answer *answer) {
        bool has_names = answer->request->has_names;

        reply_begin(reply);
        put(reply, has_names ? "{\"Nodes\":null,\"NodeNames\":["
                             : "{\"Nodes\":{\"metadata\":{},\"items\":[");
        put_listed(reply, answer);
        put(reply, has_names ? "]" : "]},\"NodeNames\":null");
        put(reply, ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{");
        put_rejected(reply, answer);
        put_left_out(reply, answer);
        put(reply, "},\"Error\":\"\"}");
        return reply_finish(reply);
}

static void drop_comma(struct reply *reply) {
        if (reply->text.data[reply->text.len - 1] == ',')
                reply->text.len--;
}

static void put_victim(void *userdata, const struct skim_string *uid) {
        struct reply *reply = userdata;

        put(reply, "{\"UID\":");
        put_quoted(reply, uid->text, uid->len);
        put(reply, "},");
}

bool reply_preempt(struct reply *reply, const struct answer *answer) {
        const struct request *request = answer->request;

        reply_begin(reply);
        put(reply, "{\"NodeNameToMetaVictims\":{");
        for (size_t i = 0; i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                if (!answer->judge.filtered.is_listed[i])
                        continue;
                put_quoted(reply, node->name, node->name_bytes);
                put(reply, ":{\"Pods\":[");
                int64_t violations = request_victims(node, put_victim, reply);
                drop_comma(reply);
                (void)buf_printf(&reply->text, "],\"NumPDBViolations\":%" PRId64 "},", violations);
        }
        drop_comma(reply);
        put(reply, "}}");
        return reply_finish(reply);
}

static char *append_score(char *at, int score) {
        if (score >= 10) {
                *at++ = '1';
                score -= 10;
        }
        *at++ = (char)('0' + score);
        *at++ = '}';
        *at++ = ',';
        return at;
}

/* Nodes that are not in the table have no rendered entry. */
static void put_unknown(struct reply *reply, const struct answer *answer) {
        const uint32_t *rows = answer->judge.question.rows;
        const int *points = answer->judge.scored.points;

        for (size_t i = 0; i < answer->request->count; i++) {
                const struct request_node *node = &answer->request->nodes[i];
                if (rows[i] != JUDGE_UNKNOWN || points[i] == 0 || node->name_bytes == 0)
                        continue;
                put(reply, "{\"Host\":");
                put_quoted(reply, node->name, node->name_bytes);
                (void)buf_printf(&reply->text, ",\"Score\":%d},", points[i]);
        }
}

/* Runs once per node, so it reserves memory once. */
static void put_known(struct reply *reply, const struct answer *answer) {
        enum { SCORE_BYTES = 4 }; /* at most `10},` */
        const struct judge *judge = &answer->judge;
        const int *points = judge->scored.points;
        size_t bytes = 0;

        for (size_t i = 0; i < judge->question.count; i++)
                if (judge_knows(judge, i) && points[i] > 0)
                        bytes += SCORE_BYTES + name_of(answer, i)->entry_bytes;
        if (!buf_reserve(&reply->text, bytes))
                return;
        char *at = reply->text.data + reply->text.len;
        for (size_t i = 0; i < judge->question.count; i++) {
                if (!judge_knows(judge, i) || points[i] == 0)
                        continue;
                const struct node_name *name = name_of(answer, i);
                memcpy(at, name->entry, name->entry_bytes);
                at = append_score(at + name->entry_bytes, points[i]);
        }
        reply->text.len = (size_t)(at - reply->text.data);
}

bool reply_prioritize(struct reply *reply, const struct answer *answer) {
        reply_begin(reply);
        put(reply, "[");
        put_known(reply, answer);
        put_unknown(reply, answer);
        drop_comma(reply);
        put(reply, "]");
        return reply_finish(reply);
}
