#include "extender/answer/reply.h"

#include "base/mem.h"

enum {
        REPLY_MAX_TEXT_BYTES = 512 << 20,
        SLICE_MIN_BYTES = 4096, /* shorter runs of the request are copied: cheaper than a piece */
};

struct reply_piece {
        const char *slice; /* NULL: @bytes of our own text from @offset */
        size_t offset;
        size_t bytes;
};

void reply_init(struct reply *reply) {
        *reply = (struct reply){.text = BUF_INIT(REPLY_MAX_TEXT_BYTES)};
}

void reply_done(struct reply *reply) {
        buf_done(&reply->text);
        free(reply->marks);
        free(reply->pieces);
        reply_init(reply);
}

static void begin(struct reply *reply) {
        buf_clear(&reply->text);
        reply->mark_count = reply->count = reply->text_marked = reply->bytes = 0;
}

static void mark(struct reply *reply, struct reply_piece piece) {
        if (piece.bytes == 0)
                return;
        mem_grow(&reply->marks, reply->mark_count, &reply->mark_cap);
        reply->marks[reply->mark_count++] = piece;
        reply->bytes += piece.bytes;
}

static void mark_text(struct reply *reply) {
        mark(reply, (struct reply_piece){.offset = reply->text_marked,
                                         .bytes = reply->text.len - reply->text_marked});
        reply->text_marked = reply->text.len;
}

static void put(struct reply *reply, const char *text) {
        (void)buf_puts(&reply->text, text);
}

static void put_slice(struct reply *reply, const char *slice, size_t bytes) {
        if (bytes < SLICE_MIN_BYTES) {
                (void)buf_append(&reply->text, slice, bytes);
                return;
        }
        mark_text(reply);
        mark(reply, (struct reply_piece){.slice = slice, .bytes = bytes});
}

static bool finish(struct reply *reply) {
        mark_text(reply);
        if (reply->mark_count > reply->piece_cap) {
                reply->piece_cap = reply->mark_cap;
                reply->pieces = xreallocarray(reply->pieces, reply->piece_cap,
                                              sizeof(*reply->pieces));
        }
        for (size_t i = 0; i < reply->mark_count; i++) {
                const struct reply_piece *piece = &reply->marks[i];
                const char *at = piece->slice ? piece->slice : reply->text.data + piece->offset;
                reply->pieces[i] = (struct iovec){(void *)(uintptr_t)at, piece->bytes};
        }
        reply->count = reply->mark_count;
        return !reply->text.overflow;
}

static bool is_passing(const struct judge *judge, size_t i) {
        return judge->verdicts[i] == JUDGE_PASSES && judge->rows[i] != JUDGE_DUPLICATE;
}

/* Passing candidates, comma-separated; neighbours of one text go out in one run. */
static void put_passing(struct reply *reply, const struct judge *judge,
                        const struct request *request) {
        bool is_first = true;

        for (size_t i = 0; i < request->count;) {
                if (!is_passing(judge, i)) {
                        i++;
                        continue;
                }
                const char *from = request->nodes[i].json;
                const char *to;
                do {
                        to = request->nodes[i].json + request->nodes[i].json_bytes;
                        i++;
                } while (request->is_contiguous && i < request->count && is_passing(judge, i));
                if (!is_first)
                        put(reply, ",");
                is_first = false;
                put_slice(reply, from, (size_t)(to - from));
        }
}

static void put_rejected(struct reply *reply, const struct judge *judge,
                         const struct node_snapshot *snapshot, const struct request *request) {
        size_t left = judge->rejected_count;

        for (size_t i = 0; left > 0 && i < request->count; i++) {
                size_t len;
                if (judge->verdicts[i] < 0)
                        continue;
                /* Whoever is rejected is in the table. */
                const char *quoted = node_name_quoted(
                        node_names_at(snapshot->names, judge->rows[i]), &len);
                (void)buf_append(&reply->text, quoted, len);
                put(reply, ":");
                put(reply, snapshot->table_policy->reason_json[judge->verdicts[i]]);
                if (--left > 0)
                        put(reply, ",");
        }
}

bool reply_filter(struct reply *reply, const struct judge *judge,
                  const struct node_snapshot *snapshot, const struct request *request) {
        begin(reply);
        put(reply, request->has_names ? "{\"Nodes\":null,\"NodeNames\":["
                                      : "{\"Nodes\":{\"metadata\":{},\"items\":[");
        put_passing(reply, judge, request);
        put(reply, request->has_names ? "]" : "]},\"NodeNames\":null");
        put(reply, ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{");
        put_rejected(reply, judge, snapshot, request);
        put(reply, "},\"Error\":\"\"}");
        return finish(reply);
}

bool reply_preempt(struct reply *reply, const struct judge *judge, const struct request *request) {
        begin(reply);
        put(reply, "{\"NodeNameToMetaVictims\":{");
        put_passing(reply, judge, request);
        put(reply, "}}");
        return finish(reply);
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

/* Nodes that the table does not know have no entry rendered; a compact reply rarely has any. */
static void put_unknown(struct reply *reply, const struct judge *judge,
                        const struct request *request, int least, int base) {
        for (size_t i = 0; i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                if (judge->rows[i] != JUDGE_UNKNOWN || judge->verdicts[i] <= least ||
                    node->name_bytes == 0)
                        continue;
                put(reply, "{\"Host\":");
                (void)buf_json_string(&reply->text, node->name, node->name_bytes);
                (void)buf_printf(&reply->text, ",\"Score\":%d},", judge->verdicts[i] - base);
        }
}

/* The smallest score of the candidates. */
static int least_score(const struct judge *judge, const struct request *request) {
        int least = 10;

        for (size_t i = 0; i < request->count; i++)
                if (judge->rows[i] != JUDGE_DUPLICATE && judge->verdicts[i] < least)
                        least = judge->verdicts[i];
        return least;
}

bool reply_prioritize(struct reply *reply, const struct judge *judge,
                      const struct node_snapshot *snapshot, const struct request *request,
                      bool is_compact) {
        enum { SCORE_BYTES = 4 }; /* at most `10},` */
        int base = is_compact ? least_score(judge, request) : 0;
        int least = is_compact ? base : -1; /* this and below are left out */
        size_t bytes = 0;

        begin(reply);
        reply->score_base = base;
        put(reply, "[");
        /* One reservation, then plain copies: this runs once per node. */
        for (size_t i = 0; i < request->count; i++)
                if (judge->rows[i] < snapshot->count && judge->verdicts[i] > least)
                        bytes += SCORE_BYTES +
                                 node_names_at(snapshot->names, judge->rows[i])->entry_bytes;
        if (!buf_reserve(&reply->text, bytes))
                return false;
        char *at = reply->text.data + reply->text.len;
        for (size_t i = 0; i < request->count; i++) {
                if (judge->rows[i] >= snapshot->count || judge->verdicts[i] <= least)
                        continue;
                const struct node_name *name = node_names_at(snapshot->names, judge->rows[i]);
                memcpy(at, name->entry, name->entry_bytes);
                at = append_score(at + name->entry_bytes, judge->verdicts[i] - base);
        }
        reply->text.len = (size_t)(at - reply->text.data);
        put_unknown(reply, judge, request, least, base);
        if (reply->text.data[reply->text.len - 1] == ',')
                reply->text.len--;
        put(reply, "]");
        return finish(reply);
}
