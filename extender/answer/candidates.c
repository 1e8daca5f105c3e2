#include "extender/answer/candidates.h"

#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"

void candidates_done(struct candidates *candidates) {
        free(candidates->seen_in);
        free(candidates->next);
        free(candidates->strangers);
        *candidates = CANDIDATES_NULL;
}

static void candidates_begin(struct candidates *candidates, size_t rows) {
        if (rows > candidates->row_cap) {
                candidates->seen_in = xreallocarray(candidates->seen_in, rows,
                                                    sizeof(*candidates->seen_in));
                candidates->next = xreallocarray(candidates->next, rows, sizeof(*candidates->next));
                for (size_t i = candidates->row_cap; i < rows; i++) {
                        candidates->seen_in[i] = 0;
                        candidates->next[i] = (uint32_t)i + 1;
                }
                candidates->row_cap = rows;
        }
        if (++candidates->request_number == 0) {
                memset(candidates->seen_in, 0, candidates->row_cap * sizeof(*candidates->seen_in));
                candidates->request_number = 1;
        }
}

/* True if candidate @index, which is not in the table, is the first with its name. The set is
 * allocated on demand, and may be large: until the table is filled, all candidates are strangers.
 */
static bool is_new_stranger(struct candidates *candidates, const struct request *request,
                            size_t index, bool is_first) {
        const struct request_node *node = &request->nodes[index];

        if (is_first) {
                size_t cap = 16;
                while (cap < request->count * 2)
                        cap *= 2;
                if (cap > candidates->stranger_cap) {
                        candidates->strangers = xreallocarray(candidates->strangers, cap,
                                                              sizeof(*candidates->strangers));
                        candidates->stranger_cap = cap;
                }
                memset(candidates->strangers, 0xff, cap * sizeof(*candidates->strangers));
                candidates->stranger_mask = cap - 1;
        }
        size_t mask = candidates->stranger_mask;
        for (size_t i = strmap_hash(node->name, node->name_bytes) & mask;; i = (i + 1) & mask) {
                if (candidates->strangers[i] == UINT32_MAX) {
                        candidates->strangers[i] = (uint32_t)index;
                        return true;
                }
                const struct request_node *other = &request->nodes[candidates->strangers[i]];
                if (other->name_bytes == node->name_bytes &&
                    memcmp(other->name, node->name, node->name_bytes) == 0)
                        return false;
        }
}

static uint32_t place_stranger(struct candidates *candidates, const struct request *request,
                               size_t index, struct judge_question *question) {
        /* Node objects without names are not duplicates of each other. */
        bool is_nameless = !request->has_names && request->nodes[index].name_bytes == 0;

        if (!is_nameless &&
            !is_new_stranger(candidates, request, index, question->unknown_count == 0)) {
                question->duplicate_count++;
                return JUDGE_DUPLICATE;
        }
        question->unknown_count += !is_nameless;
        return JUDGE_UNKNOWN;
}

/* The row of a name as it stands in a request, perhaps with escapes. */
static uint32_t find_decoded_row(const struct node_names *names, const struct request_node *node) {
        const struct skim_string name = {node->name, node->name_bytes, true};
        uint32_t row = node_names_find(names, node->name, node->name_bytes);
        char decoded[NODE_NAME_MAX + 1];

        if (row == NODE_ROW_NONE && memchr(node->name, '\\', node->name_bytes) &&
            skim_decode(&name, decoded, sizeof(decoded)))
                row = node_names_find(names, decoded, strlen(decoded));
        return row;
}

void candidates_find(struct candidates *candidates, const struct node_snapshot *snapshot,
                     const struct request *request, struct judge_question *question) {
        const struct node_names *names = snapshot->names;
        size_t count = snapshot->nodes.count;
        uint32_t *rows = question->rows, last = 0, guess = 0;

        candidates_begin(candidates, count);
        uint32_t *seen_in = candidates->seen_in, *next = candidates->next;
        uint32_t number = candidates->request_number;
        for (size_t i = 0; i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                uint32_t row = guess;
                if (guess >= count ||
                    !node_name_is(node_names_at(names, guess), node->name, node->name_bytes))
                        row = find_decoded_row(names, node);
                if (row == NODE_ROW_NONE) {
                        rows[i] = place_stranger(candidates, request, i, question);
                        continue;
                }
                if (seen_in[row] == number) {
                        question->duplicate_count++;
                        rows[i] = JUDGE_DUPLICATE;
                        continue;
                }
                seen_in[row] = number;
                rows[i] = row;
                next[last] = row;
                guess = next[row];
                last = row;
        }
}
