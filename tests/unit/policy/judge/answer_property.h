/*
 * What the unit test and the fuzzer hold a filter's answer to: every candidate that is not repeated
 * is passed, rejected or left out; the reply is JSON and names the passing and the rejected ones,
 * each once, and the others nowhere; and those that are left out are no better than those of their
 * zone that are not.
 */
#pragma once

#include <jansson.h>

#include "extender/answer/reply.h"
#include "tests/unit/fixture/property.h"

/* Whether one of the candidates that are left out has a name. */
static inline bool names_left_out(const struct answer *answer) {
        const struct judge *judge = &answer->judge;
        bool is_any = false;

        for (size_t i = 0; i < judge->question.count; i++)
                is_any |= !judge->filtered.is_listed[i] && judge->filtered.rejected_by[i] < 0 &&
                          judge->question.rows[i] != JUDGE_DUPLICATE &&
                          answer->request->nodes[i].name_bytes > 0;
        return is_any;
}

/* Names and rejections in the reply. */
static inline void answer_check_reply(struct reply *reply, const struct answer *answer) {
        const struct request *request = answer->request;
        const struct judge *judge = &answer->judge;
        struct buf text = BUF_INIT(1 << 26);
        size_t passing = 0;

        PROPERTY(reply_filter(reply, answer));
        for (size_t i = 0; i < reply->count; i++)
                (void)buf_append(&text, reply->pieces[i].iov_base, reply->pieces[i].iov_len);
        json_error_t error;
        json_t *json = json_loadb(text.data, text.len, JSON_ALLOW_NUL, &error);
        if (!json) {
                /* what jansson cannot hold is echoed */
                buf_done(&text);
                return;
        }
        const json_t *told = request->has_names
                                     ? json_object_get(json, "NodeNames")
                                     : json_object_get(json_object_get(json, "Nodes"), "items");
        for (size_t i = 0; i < request->count; i++)
                passing += judge->filtered.is_listed[i];
        PROPERTY(json_array_size(told) == passing);
        const json_t *failed = json_object_get(json, "FailedAndUnresolvableNodes");
        PROPERTY(json_object_size(failed) ==
                 judge->filtered.rejected_count + names_left_out(answer));
        PROPERTY(json_object_size(json_object_get(json, "FailedNodes")) == 0);
        for (size_t i = 0, at = 0; request->has_names && i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                if (!judge->filtered.is_listed[i])
                        continue;
                const json_t *name = json_array_get(told, at++); /* in the request's order */
                json_t *echoed = json_loadb(node->json, node->json_bytes,
                                            JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                PROPERTY(json_equal(name, echoed));
                json_decref(echoed);
        }
        json_decref(json);
        buf_done(&text);
}

static inline unsigned answer_zone(const struct judge *judge, size_t i) {
        return judge_knows(judge, i) ? judge->question.nodes->columns.zone[judge->question.rows[i]]
                                     : SHORTLIST_STRANGERS;
}

/* The larger the better, as coarse as the shortlist's levels are. */
static inline int answer_worth(const struct judge *judge, size_t i) {
        return -(int)judge->scratch.shortlist.candidates[i].level - !judge_knows(judge, i);
}

static inline void answer_check_shortlist(const struct judge *judge, size_t places) {
        int worst_in[SHORTLIST_GROUPS], best_out[SHORTLIST_GROUPS];
        size_t in = 0, in_zone[SHORTLIST_GROUPS] = {0}, zones = 0, strangers_out = 0;

        for (size_t z = 0; z < SHORTLIST_GROUPS; z++) {
                worst_in[z] = 1000;
                best_out[z] = -1000;
        }
        for (size_t i = 0; i < judge->question.count; i++) {
                if (judge->question.rows[i] == JUDGE_DUPLICATE ||
                    judge->filtered.rejected_by[i] >= 0)
                        continue;
                unsigned zone = answer_zone(judge, i);
                int worth = answer_worth(judge, i);
                if (judge->filtered.is_listed[i]) {
                        zones += in_zone[zone]++ == 0 && zone != SHORTLIST_STRANGERS;
                        in++;
                        worst_in[zone] = worth < worst_in[zone] ? worth : worst_in[zone];
                } else {
                        best_out[zone] = worth > best_out[zone] ? worth : best_out[zone];
                        strangers_out += zone == SHORTLIST_STRANGERS;
                }
        }
        for (size_t z = 0; z < SHORTLIST_GROUPS; z++)
                PROPERTY(best_out[z] <= worst_in[z] || z == SHORTLIST_STRANGERS);
        for (size_t z = 0; z < SHORTLIST_STRANGERS; z++)
                PROPERTY(best_out[z] == -1000 || in_zone[z] > 0);
        PROPERTY(in == (zones > places ? zones : places));
        /* strangers are in when nobody else is out */
        if (in_zone[SHORTLIST_STRANGERS] > 0)
                PROPERTY(judge->filtered.left_out_count == strangers_out);
}

/* answer_filter(), answer_shortlist() and reply_filter(). Return: which list it was */
static inline enum judge_list answer_property_check(struct answer *answer, struct reply *reply,
                                                    const struct node_snapshot *snapshot,
                                                    const struct request *request, size_t places,
                                                    int64_t now_unix_ms) {
        const struct judge *judge = &answer->judge;
        size_t rejected = 0, told = 0, left_out = 0;

        answer_filter(answer, snapshot, request, now_unix_ms);
        answer_shortlist(answer, 0);
        for (size_t i = 0; i < request->count; i++) {
                if (judge->question.rows[i] == JUDGE_DUPLICATE)
                        continue;
                rejected += judge->filtered.rejected_by[i] >= 0;
                told += judge->filtered.is_listed[i];
                left_out += judge->filtered.rejected_by[i] < 0 && !judge->filtered.is_listed[i];
        }
        PROPERTY(rejected == judge->filtered.rejected_count);
        PROPERTY(left_out == judge->filtered.left_out_count);
        PROPERTY(rejected + told + left_out == request->count - judge->question.duplicate_count);
        PROPERTY((answer->list == JUDGE_LIST_SHORT) || judge->filtered.left_out_count == 0);
        if (answer->list == JUDGE_LIST_SHORT)
                answer_check_shortlist(judge, places);
        answer_check_reply(reply, answer);
        return answer->list;
}
