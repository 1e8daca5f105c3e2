#include "policy/node_taints.h"

#include <string.h>

#include "codec/json.h"

/* 1 to POLICY_MAX_LEVELS; 0: the taint is none of ours. */
static unsigned level_of(const json_t *taint) {
        const char *key = json_string_at(taint, "key", NULL);
        size_t prefix_len = strlen(POLICY_TAINT_PREFIX);

        if (!key || !json_is_at(POLICY_TAINT_EFFECT, taint, "effect", NULL) ||
            strncmp(key, POLICY_TAINT_PREFIX, prefix_len) != 0 || key[prefix_len] < '1' ||
            key[prefix_len] > '0' + POLICY_MAX_LEVELS || key[prefix_len + 1])
                return 0;
        return (unsigned)(key[prefix_len] - '0');
}

struct node_taints node_taints_read(const json_t *taints) {
        struct node_taints found = {.count = json_array_size(taints)};
        const json_t *taint;
        size_t i;

        json_array_foreach (taints, i, taint) {
                const char *effect = json_string_at(taint, "effect", NULL);
                unsigned level = level_of(taint);
                if (level > 0)
                        found.at[level - 1] = i + 1;
                found.is_closed |= effect && strcmp(effect, POLICY_TAINT_EFFECT) != 0;
        }
        return found;
}

unsigned node_taints_count(const struct node_taints *taints) {
        unsigned count = 0;

        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++)
                count += taints->at[i] > 0;
        return count;
}

bool node_taints_match(const struct node_taints *taints, unsigned level) {
        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++)
                if ((taints->at[i] > 0) != (i < level))
                        return false;
        return true;
}

static void remove_one(size_t index, size_t level, struct buf *out) {
        buf_printf(out,
                   ",{\"op\":\"test\",\"path\":\"/spec/taints/%zu/key\","
                   "\"value\":\"" POLICY_TAINT_PREFIX "%zu\"}"
                   ",{\"op\":\"test\",\"path\":\"/spec/taints/%zu/effect\","
                   "\"value\":\"" POLICY_TAINT_EFFECT "\"}"
                   ",{\"op\":\"remove\",\"path\":\"/spec/taints/%zu\"}",
                   index, level, index, index);
}

/* From the end of the list, so that earlier positions stay valid. */
static void remove_above(const struct node_taints *taints, unsigned level, struct buf *out) {
        for (size_t at = taints->count; at > 0; at--)
                for (size_t i = level; i < POLICY_MAX_LEVELS; i++)
                        if (taints->at[i] == at)
                                remove_one(at - 1, i + 1, out);
}

static void add_up_to(const struct node_taints *taints, unsigned level, struct buf *out) {
        bool has_list = taints->count > 0;

        for (unsigned i = 0; i < level; i++) {
                if (taints->at[i] > 0)
                        continue;
                if (!has_list)
                        buf_puts(out, ",{\"op\":\"test\",\"path\":\"/spec/taints\",\"value\":null}"
                                      ",{\"op\":\"add\",\"path\":\"/spec/taints\",\"value\":[]}");
                has_list = true;
                buf_printf(out,
                           ",{\"op\":\"add\",\"path\":\"/spec/taints/-\",\"value\":"
                           "{\"key\":\"" POLICY_TAINT_PREFIX
                           "%u\",\"effect\":\"" POLICY_TAINT_EFFECT "\"}}",
                           i + 1);
        }
}

bool node_taints_patch(const struct node_taints *taints, unsigned level, const char *uid,
                       struct buf *out) {
        size_t before = out->len;

        if (node_taints_match(taints, level))
                return false;
        if (uid) {
                buf_puts(out, ",{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":");
                buf_json_string(out, uid, strlen(uid));
                buf_putc(out, '}');
        }
        remove_above(taints, level, out);
        add_up_to(taints, level, out);
        if (out->overflow)
                return false;
        out->data[before] = '['; /* replaces the first comma */
        buf_putc(out, ']');
        return !out->overflow;
}
